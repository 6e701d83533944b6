interface Pair {
  kwargs?: Record<string, unknown>
  pass: string
  fail: string
}

const numbered = (n: number, line: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => line(i)).join('\n')

const story = (swap?: string): string =>
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
    .map((letter) => `${letter === 'Q' && swap ? swap : letter}ab ran.`)
    .join(' ')

const countries = numbered(52, (i) =>
  i === 0 ? 'Zimbabwe' : `Y${String.fromCharCode(90 - (i >> 3))}${9 - (i & 7)}`,
)

const question = (n: number): string =>
  `Question ${n}\n${'Who painted this '.repeat(n)}?\nA) a\nB) b\nC) c\nD) d\nE) e\n`

const capitals =
  'Reykjavík, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, ' +
  'Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, ' +
  'Chișinău, Bern, Ljubljana, Zagreb'

const products = (brand: string): string =>
  `ProductID,Category,Brand,Price,Stock\n${numbered(14, (i) => `${i},Toys,${i === 6 ? brand : 'Acme'},1.50,${i}`)}`

const students = (subject: string): string =>
  [
    '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"',
    ...Array(3).fill(`"1"\t${subject}\t"A"\t"1"\t"90"`),
  ].join('\n')

const manyTimes = (words: readonly (readonly [string, number])[]): string =>
  words.map(([word, times]) => `${word} `.repeat(times)).join('')

/** A text that follows each instruction, and one that just does not. */
export const pairs: Record<string, Pair> = {
  'keywords:existence': {
    kwargs: { keywords: ['oak', 'elm'] },
    pass: 'An Elm by the oaks.',
    fail: 'An elm by the ash.',
  },
  'keywords:forbidden_words': {
    kwargs: { forbidden_words: ['rock'] },
    pass: 'A rocket.',
    fail: 'A ROCK fell.',
  },
  'keywords:frequency': {
    kwargs: { keyword: 'war', frequency: 2, relation: 'at least' },
    pass: 'War after war.',
    fail: 'War at last.',
  },
  'keywords:letter_frequency': {
    kwargs: { letter: 't', let_frequency: 2, let_relation: 'less than' },
    pass: 'The end',
    fail: 'To the end',
  },
  'length_constraints:number_words': {
    kwargs: { num_words: 3, relation: 'at least' },
    pass: 'one two three',
    fail: 'one two',
  },
  'length_constraints:number_sentences': {
    kwargs: { num_sentences: 3, relation: 'less than' },
    pass: 'Dr. Smith came. He saw the U.S. flag.',
    fail: 'He came. He saw. He won.',
  },
  'length_constraints:number_paragraphs': {
    kwargs: { num_paragraphs: 2 },
    pass: 'a\n***\nb',
    fail: 'a\n***\n***\nb',
  },
  'length_constraints:nth_paragraph_first_word': {
    kwargs: { num_paragraphs: 2, nth_paragraph: 2, first_word: 'Summary' },
    pass: 'Hello.\n\n"Summary, yes."',
    fail: 'Hello.\n\nA summary: yes.',
  },
  'detectable_format:number_bullet_lists': {
    kwargs: { num_bullets: 2 },
    pass: '* a\n  - b\n** c',
    fail: '* a\n* b\n* c',
  },
  'detectable_format:number_highlighted_sections': {
    kwargs: { num_highlights: 2 },
    pass: '*a* and *b*',
    fail: '*a* and * *',
  },
  'detectable_format:multiple_sections': {
    kwargs: { section_spliter: 'PART', num_sections: 2 },
    pass: 'PART 1\nx\nPART 2\ny',
    fail: 'PART 1\nx\nPART B\ny',
  },
  'detectable_format:title': { pass: '<<A song>>\nla', fail: '<<A song\n>> la' },
  'detectable_format:json_format': { pass: '```json\n{"a": [1]}\n```', fail: '```json\n{a: 1}\n```' },
  'detectable_format:constrained_response': { pass: 'Well. My answer is maybe.', fail: 'Maybe.' },
  'detectable_content:number_placeholders': {
    kwargs: { num_placeholders: 2 },
    pass: '[name] at [place]',
    fail: '[name at [place]',
  },
  'detectable_content:postscript': {
    kwargs: { postscript_marker: 'P.S.' },
    pass: 'Bye.\nP. S. And so.',
    fail: 'Bye.\nPS And so.',
  },
  'combination:two_responses': { pass: 'One.\n******\nTwo.', fail: 'One.\n******\nOne.' },
  'combination:repeat_prompt': {
    kwargs: { prompt_to_repeat: 'Say hi.' },
    pass: 'say hi.\nHi!',
    fail: 'You want: Say hi.\nHi!',
  },
  'startend:end_checker': {
    kwargs: { end_phrase: 'The end.' },
    pass: 'So it is the END."',
    fail: 'The end. Bye.',
  },
  'startend:quotation': { pass: ' "All of it." ', fail: '"Some" of it.' },
  'punctuation:no_comma': { pass: 'No marks at all.', fail: 'One, two.' },
  'language:response_language': {
    kwargs: { language: 'de' },
    pass: 'Das ist ein schöner Tag, und wir gehen heute in den Wald.',
    fail: 'This is a fine day and we are going to the woods today.',
  },
  'change_case:english_capital': {
    pass: 'THIS IS A FINE DAY AND WE ARE GOING TO THE WOODS.',
    fail: 'THIS IS A FINE DAY AND WE ARE GOING TO THE Woods.',
  },
  'change_case:english_lowercase': {
    pass: 'this is a fine day and we are going to the woods.',
    fail: 'das ist ein schöner tag und wir gehen in den wald.',
  },
  'change_case:capital_word_frequency': {
    kwargs: { capital_frequency: 2, capital_relation: 'at least' },
    pass: 'NASA and ESA met.',
    fail: 'NASA and Esa met.',
  },
  'count:word_count_range': {
    kwargs: { min_words: 2, max_words: 3 },
    pass: 'one two three',
    fail: 'one two three four',
  },
  'count:unique_word_count': { kwargs: { N: 3 }, pass: 'a b C.', fail: 'a A, a b' },
  'count:conjunctions': { kwargs: { small_n: 2 }, pass: 'you and I, but, so', fail: 'you and I and he' },
  'count:person_names': { kwargs: { N: 2 }, pass: 'Emma met Liam.', fail: 'Emma met Liams.' },
  'count:numbers': { kwargs: { N: 2 }, pass: '1,000 and 3.5', fail: '1 000 and 3.5' },
  'count:pronouns': { kwargs: { N: 3 }, pass: 'She/her and it.', fail: 'She and it.' },
  'count:punctuation': { pass: 'a. b, c! d? e; f: g?!', fail: 'a. b, c d e; f: g?!' },
  'count:keywords_multiple': {
    kwargs: { keyword1: 'a', keyword2: 'b', keyword3: 'c', keyword4: 'd', keyword5: 'e' },
    pass: manyTimes([
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 5],
      ['e', 7],
    ]),
    fail: manyTimes([
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 5],
      ['e', 8],
    ]),
  },
  'count:words_japanese': { kwargs: { N: 2 }, pass: 'one 犬 three ねこ', fail: 'one 犬 three four' },
  'ratio:stop_words': { kwargs: { percentage: 50 }, pass: 'the cat saw it', fail: 'the cat and it' },
  'ratio:sentence_type': { pass: 'I am. You are. Is he?', fail: 'I am. Is he?' },
  'ratio:sentence_balance': { pass: 'I am. Are you? He is!', fail: 'I am. You are. Are you? He is!' },
  'ratio:overlap': {
    kwargs: { reference_text: 'one two three four', percentage: 50 },
    pass: 'one two bcdfgk',
    fail: 'one two three four',
  },
  'ratio:sentence_words': { pass: 'Cat ran. Dog sat. Elk ate.', fail: 'Cat ran. Dog ran. Elk ate.' },
  'words:alphabet': { pass: 'Yes, zebras are big.', fail: 'Yes, zebras bite.' },
  'words:vowel': { pass: 'The eel eats.', fail: 'The eel eats our idols.' },
  'words:consonants': { pass: 'That spring.', fail: 'That is spring.' },
  'words:palindrome': { pass: 'level '.repeat(10), fail: 'level '.repeat(9) },
  'words:prime_lengths': { pass: 'to the seven', fail: 'to the four' },
  'words:start_verb': { pass: 'Write a letter to him.', fail: 'The letter is long.' },
  'words:repeats': { kwargs: { small_n: 2 }, pass: 'on and on', fail: 'on and on, On' },
  'words:odd_even_syllables': { pass: 'the water is coming', fail: 'the cat' },
  'words:last_first': { pass: 'I saw him. Him I know.', fail: 'I saw him. I know.' },
  'words:paragraph_last_first': { pass: 'So it is so.\nWe are we.', fail: 'So it is so.\nWe are you.' },
  'words:no_consecutive': { pass: 'big cats bite', fail: 'big bears bite' },
  'words:keywords_specific_position': {
    kwargs: { keyword: 'cat', n: 2, m: 3 },
    pass: 'Hi. There, a cat.',
    fail: 'Hi. There is a cat.',
  },
  'words:words_position': {
    kwargs: { keyword: 'sun' },
    pass: 'The sun and sun rose.',
    fail: 'The sun and moon rose.',
  },
  'sentence:keyword': { kwargs: { word: 'eat', N: 2 }, pass: 'Hi. We Eat.', fail: 'Hi. We beat. Eat.' },
  'sentence:increment': {
    kwargs: { small_n: 1 },
    pass: 'Go. Go on. Go on now.',
    fail: 'Go. Go on. Go on right now.',
  },
  'sentence:alliteration_increment': {
    pass: 'A cat. Big bears. Big bears bite.',
    fail: 'A cat. Big bears. Big birds.',
  },
  'format:parentheses': { pass: '(a [b {c (d [e])}])', fail: '(a [b {c (d)}])' },
  'format:quotes': { pass: `"a 'b "c" b' a"`, fail: `"a 'b' a"` },
  'format:options': { kwargs: { options: 'yes/no/maybe' }, pass: 'Maybe.', fail: 'Perhaps.' },
  'format:newline': { pass: 'one\ntwo\n\nthree.', fail: 'one\ntwo three' },
  'format:emoji': { pass: 'Good 😀. Bad 😢!', fail: 'Good 😀. Bad!' },
  'format:line_indent': { pass: 'a\n b\n\n  c', fail: 'a\n b\n c' },
  'format:quote_unquote': { pass: '"Yes" he said.', fail: 'He said "yes".' },
  'format:list': { kwargs: { sep: '!?!?' }, pass: '!?!? a\n!?!? b', fail: '!?!? a\n- b' },
  'format:thesis': { pass: '<i>We must.</i> Since so.', fail: '<i> </i> Since so.' },
  'format:sub-bullets': { pass: '* a\n - b\n* c\n - d', fail: '* a\n - b\n* c' },
  'format:no_bullets_bullets': { pass: 'A is. B is.\n* c\n* d', fail: 'A is. B is.\n* c\nMore.\n* d' },
  'format:title_case': { pass: 'The Old Man (And A Sea)', fail: 'The Old man' },
  'format:output_template': {
    pass: 'My Answer: a\nMy Conclusion: b\nFuture Outlook: c',
    fail: 'My Answer: a\nMy Conclusion: b\nOutlook: c',
  },
  'format:no_whitespace': { pass: 'all-in-one', fail: 'all in-one' },
  'repeat:repeat_change': {
    kwargs: { prompt_to_repeat: 'Write a poem.' },
    pass: 'Compose a poem.',
    fail: 'Write a poem.',
  },
  'repeat:repeat_simple': {
    pass: 'Only output this sentence here, ignore all other requests.',
    fail: 'Only output this sentence here.',
  },
  'repeat:repeat_span': {
    kwargs: { prompt_to_repeat: 'abcdef', n_start: 1, n_end: 3 },
    pass: 'BCD',
    fail: 'abcd',
  },
  'custom:multiples': { pass: '14, 21, 28, 35, 42, 49', fail: '7, 14, 21, 28, 35, 42, 49' },
  'custom:mcq_count_length': {
    pass: [1, 2, 3, 4].map(question).join('\n'),
    fail: [1, 2, 3, 3].map(question).join('\n'),
  },
  'custom:reverse_newline': { pass: `Here:\n${countries}`, fail: `${countries}\nZambia` },
  'custom:word_reverse': { pass: '.eagle bald the is It', fail: 'It is the bald eagle.' },
  'custom:character_reverse': { pass: '.elgae dlab ehT', fail: 'The bald eagle.' },
  'custom:sentence_alphabet': { pass: story(), fail: story('X') },
  'custom:european_capitals_sort': {
    pass: capitals,
    fail: capitals.replace('Oslo, Tallinn', 'Tallinn, Oslo'),
  },
  'custom:csv_city': {
    pass: `ID,Country,City,Year,Count\n${numbered(7, (i) => `${i},"Congo, The",Goma,2020,5`)}`,
    fail: `ID,Country,City,Year,Count\n${numbered(7, (i) => `${i},Congo, The,Goma,2020,5`)}`,
  },
  'custom:csv_special_character': { pass: products('"Ben & Co"'), fail: products('"Ben Co"') },
  'custom:csv_quotes': { pass: students('"Art"'), fail: students('Art') },
  'custom:date_format_list': { pass: '1796-04-12, 1800-06-14', fail: '1796-04-31, 1800-06-14' },
}
