export { type CodeCase, type CodeTest, codeCase, codeTest } from './case.ts'
export { CodeJudge, codeKind } from './kind.ts'
