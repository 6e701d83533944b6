/**
 * The eight forms of a response that IFEval's loose reading accepts any of: without its first line, its last
 * or both, and each of those without asterisks. Equal ones come once.
 */
export function looseForms(response: string): string[] {
  const first = response.indexOf('\n')
  const last = response.lastIndexOf('\n')
  const noFirst = first < 0 ? '' : response.slice(first + 1).trim()
  const noLast = last < 0 ? '' : response.slice(0, last).trim()
  const neither = first < last ? response.slice(first + 1, last).trim() : ''
  const forms = [response, noFirst, noLast, neither]
  return [...new Set([...forms, ...forms.map((form) => form.replaceAll('*', ''))])]
}
