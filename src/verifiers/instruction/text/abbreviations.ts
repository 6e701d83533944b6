import { stopWords } from './stop-words.ts'

/** English abbreviations that end in a period, without it, in lower case. */
export const abbreviations: ReadonlySet<string> = new Set(
  `mr mrs ms messrs dr prof rev hon gen col lt sgt capt maj adm gov sen rep pres jr sr st mt ft ave blvd
  inc ltd co corp bros cos dept vs v e.g i.e cf p.m a.m u.s u.k u.n u.s.a d.c n.y l.a ph.d m.d b.a m.a b.sc
  jan feb mar apr jun jul aug sept sep oct nov dec
  ala ariz calif colo conn fla ga ill ind kan mass mich minn mo nev okla ore pa tenn tex va vt wash wis`.split(
    /\s+/,
  ),
)

/** Words that stand in lower case inside sentences so often that a capital says: a sentence begins. */
export const commonWords: ReadonlySet<string> = new Set([
  ...stopWords,
  ...`also although another anyone back first finally good however instead let like make many maybe meanwhile
  much never next nothing one perhaps please second since something still take thanks therefore third though
  thus today together two use well whether without would yes yet`.split(/\s+/),
])
