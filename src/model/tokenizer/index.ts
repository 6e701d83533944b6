export { type CharTokenizer, tokenizer } from './char-tokenizer.ts'
