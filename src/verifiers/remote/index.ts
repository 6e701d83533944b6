export { type PostOptions, type PostResult, postJson } from './post-json.ts'
export { type RemoteOptions, readAnswer, remote, remoteOptions } from './remote.ts'
export { type ServeOptions, serveVerifier, type VerifierServer, verdictType } from './serve.ts'
export { type RewardRequest, rewardRequest, type Served, servedKind, servedRule } from './served.ts'
