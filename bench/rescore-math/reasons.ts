/**
 * Why Math-Verify 0.9 and we differ on a form, where it is wrong by how the pair was made; each was looked into. Differences of other forms,
 * and those where we are wrong, are unexplained.
 */
const reasons: Readonly<Record<string, string>> = {
  'numbers/scientific':
    'it compares the whole number with a product of floats (8.3 x 10^8) and finds them different',
  'fractions/slash':
    'it reads the full stop behind `35/93.` as a decimal point, and compares a float with a fraction',
  'fractions/rounded':
    'it rounds both to 6 places, which parts a value from one given to 7 or more right places where the digit there is 5 (108.9130435)',
  'symbolic/collected': 'it reads `128t` as the number 128, taking the t for a unit',
  'symbolic/inequality': 'of `3 < t` it reads the number alone, with t for the variable and no other letter',
}

export function reasonOf(name: string, form: string, right: 'ours' | 'math-verify'): string | undefined {
  return right === 'ours' ? reasons[`${name}/${form}`] : undefined
}
