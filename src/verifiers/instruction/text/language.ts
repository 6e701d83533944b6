import { eld } from 'eld/extrasmall'
import { franc } from 'franc'

/** ISO 639-3 of franc to ISO 639-1: the languages that are told apart. */
const languages: Readonly<Record<string, string>> = {
  afr: 'af',
  arb: 'ar',
  ben: 'bn',
  bul: 'bg',
  cat: 'ca',
  ces: 'cs',
  cmn: 'zh',
  dan: 'da',
  deu: 'de',
  ell: 'el',
  eng: 'en',
  spa: 'es',
  fin: 'fi',
  fra: 'fr',
  guj: 'gu',
  heb: 'he',
  hin: 'hi',
  hrv: 'hr',
  hun: 'hu',
  ind: 'id',
  ita: 'it',
  jpn: 'ja',
  kan: 'kn',
  kor: 'ko',
  lit: 'lt',
  mal: 'ml',
  mar: 'mr',
  mkd: 'mk',
  nld: 'nl',
  nob: 'no',
  npi: 'ne',
  pan: 'pa',
  pes: 'fa',
  pol: 'pl',
  por: 'pt',
  ron: 'ro',
  rus: 'ru',
  slk: 'sk',
  slv: 'sl',
  som: 'so',
  swe: 'sv',
  swh: 'sw',
  tam: 'ta',
  tel: 'te',
  tgl: 'tl',
  tha: 'th',
  tur: 'tr',
  ukr: 'uk',
  urd: 'ur',
  vie: 'vi',
}
const only = Object.keys(languages)
const knownToEld = new Set(Object.values(eld.info().Languages))

/** Detection looks at no more than this much: a longer text says nothing new, and the time stays bounded. */
const enough = 10_000
/** From this length on eld is the better judge of the languages it knows. */
const longEnough = 40

/**
 * The language of a text as ISO 639-1, or undefined where it has no letters. franc decides short texts and
 * the languages that eld does not know (Swahili, Nepali and others); eld overrules it on longer ones.
 */
export function languageOf(text: string): string | undefined {
  const sample = text.slice(0, enough)
  if (!/\p{L}/u.test(sample)) return undefined
  const first = languages[franc(sample, { minLength: 1, only })]
  if (first !== undefined && !knownToEld.has(first)) return first
  if (first !== undefined && sample.length < longEnough) return first
  const second = eld.detect(sample)
  return second.isReliable() || first === undefined ? second.language || undefined : first
}
