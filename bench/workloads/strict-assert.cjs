// HumanEvalPack's tests are console.assert, which by itself only writes a line.
const { AssertionError } = require('node:assert')
console.assert = (condition, message) => {
  if (!condition) throw new AssertionError({ message: message ?? 'console.assert', actual: condition, expected: true })
}
