import { readFileSync } from 'node:fs'
import { sharedData } from '../../shared-data.ts'

export interface UnitCase {
  instruction_id: string
  checker: string
  kwargs: Record<string, unknown> | null
  response: string
  expected: boolean
}

export interface PublishedPrompt {
  prompt: string
  instruction_id_list: string[]
  kwargs: Record<string, unknown>[]
}

export interface PublishedVerdict {
  prompt: string
  response: string
  follow_instruction_list: boolean[]
}

/** The lines of a shared file. */
export function lines<T>(path: string): T[] {
  const text = readFileSync(sharedData(path)!, 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)
}
