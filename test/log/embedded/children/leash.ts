/** Ends the process when its parent goes, however that went: nothing of a test run that was cut off stays behind. */
process.stdin.on('end', () => process.exit(1)).resume()
// What waits for the parent alone has nothing left to do.
if ('unref' in process.stdin) process.stdin.unref()
