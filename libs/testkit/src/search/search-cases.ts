/** A text and queries. Every search of stored texts must find the text by each of `finds`, and nothing by any of `misses`. */
export interface SearchCase {
  name: string;
  text: string;
  finds: readonly string[];
  /** No text of the table contains these words. */
  misses?: readonly string[];
}

/** The kinds of words that memory.search, session.search and ctx.search find. No query of a case matches the text of another one. */
export const SEARCH_CASES: readonly SearchCase[] = [
  {
    name: 'Cyrillic letters with a breve or a diaeresis',
    text: 'Чайник и йогурт стоят под ёлкой.',
    finds: ['йогурт', 'ЙОГУРТ', 'и\u0306огурт', 'иогурт', 'ёлкой', 'елкой'],
    misses: ['дирижабль'],
  },
  {
    name: 'Hangul with and without particles',
    text: '서울에서 열린 회의는 길었다.',
    finds: ['서울', '서울에서', '회의', '서울'.normalize('NFD'), '서'],
    misses: ['부산', '울열'],
  },
  {
    name: 'kana with dakuten',
    text: 'ガラスのコップががっこうにある。',
    finds: ['ガラス', 'カ\u3099ラス', 'ｶﾞﾗｽ', 'コップ', 'がっこう'],
    misses: ['カラス', 'かっこう', 'ゴップ'],
  },
  {
    name: 'Japanese words inside a run',
    text: '東京都庁の展望室は無料です。',
    finds: ['東京', '都庁', '展望室', '無料', '東京都庁の展望室', '無料の展望室', '庁'],
    misses: ['大阪', '室無'],
  },
  {
    name: 'Chinese words of two characters inside a run',
    text: '我们下周在北京大学附近开会讨论预算。',
    finds: ['北京', '大学', '开会', '预算', '北京大学', '预算会议'],
    misses: ['上海', '京附', '飛行船'],
  },
  {
    name: 'Chinese characters outside the basic plane',
    text: '地名 𠀋𠮷𠀍 很少见。',
    finds: ['𠮷', '𠀋𠮷', '𠮷𠀍'],
    misses: ['𠀍𠮷'],
  },
  {
    name: 'Thai words inside a run',
    text: 'กรุงเทพมหานครสวยงามมาก',
    finds: ['กรุงเทพ', 'สวยงาม', 'มหานคร'],
    misses: ['เชียงใหม่'],
  },
  {
    name: 'Devanagari vowel signs',
    text: 'दिल्ली में हिन्दी सम्मेलन है।',
    finds: ['हिन्दी', 'दिल्ली', 'सम्मेलन'],
    misses: ['हिन्दू', 'दल', 'मुंबई'],
  },
  {
    name: 'Greek accents and final sigma',
    text: 'Ο καφές είναι στον δρόμο της Αθήνας.',
    finds: ['καφες', 'καφές', 'ΚΑΦΕΣ', 'δρομο', 'αθηνας', 'ΑΘΗΝΑΣ'],
    misses: ['θάλασσα'],
  },
  {
    name: 'Arabic and Hebrew vowel points',
    text: 'مُحَمَّد ذهب إلى المكتبة، שָׁלוֹם',
    finds: ['محمد', 'مُحَمَّد', 'المكتبة', 'الى', 'שלום'],
    misses: ['مدرسة'],
  },
  {
    name: 'Latin accents, case and compatibility forms',
    text: 'Das Café in Malmö, Hà Nội, Straße, İzmir, ＦＵＬＬ and ﬁnance',
    finds: ['cafe', 'CAFÉ', 'cafe\u0301', 'malmo', 'ha noi', 'strasse', 'STRASSE', 'STRAẞE', 'izmir', 'IZMIR', 'full', 'finance'],
    misses: ['zeppelin'],
  },
  {
    name: 'identifiers by their parts, in another style and in another case',
    text: 'createVectorTable() throws ERR_PIPE_CLOSED in src/parse_user_agent.ts of XMLWriter2',
    finds: [
      'createVectorTable',
      'createvectortable',
      'vector',
      'vectorTable',
      'vector_table',
      'err_pipe_closed',
      'pipe',
      'user agent',
      'agent',
      'xmlwriter2',
      'xml',
    ],
    misses: ['user_pipe', 'tableVector'],
  },
  {
    name: 'identifiers by a prefix and by any part of four characters or more',
    text: 'The order 7f3a9c41e0 fails in readQuarterlyInvoice of my_billing_module',
    finds: ['7f3a', 'a9c41', 'readQuart', 'terlyInv', 'lyinvo', 'Invo', 'billing_mod', 'y_bil', '7f3a9c41e0'],
    misses: ['a9c', 'rly', 'quarinv', 'order7f3a'],
  },
  {
    name: 'words by their beginning, and not by another part',
    text: 'The thresholds of the lighthouse were painted.',
    finds: ['light', 'thres', 'lighthouse'],
    misses: ['house', 'hold', 'lig'],
  },
  {
    name: 'words of six letters or more with one wrong letter',
    text: 'The physiotherapist recommended a marmalade; врач посоветовал',
    finds: ['physioterapist', 'marmelade', 'marmalde', 'marmaladde', 'mramalade', 'MARMALÁDA', 'посаветовал'],
    misses: ['fysiotherapist', 'narmalade', 'mrmelade', 'врага'],
  },
  {
    name: 'operators, quotes and wildcards as letters',
    text: 'NEAR the harbour: "gamma" OR delta*',
    finds: ['NEAR(', '"gamma', 'delta*', 'text : delta', '(gamma', 'gamma AND', "harbour'; --", '-delta', '^gamma'],
    misses: ['"', '*', 'OR', 'AND NOT', 'text : *', '()', '💥', '‎', ' '],
  },
];

/** Searches the stored texts. Returns the found ones in any order. */
export type SearchTexts = (query: string) => Promise<readonly string[]>;

/** Runs all queries of the table, of which all texts must be stored. Returns a line for each wrong result. */
export async function findSearchFaults(search: SearchTexts): Promise<string[]> {
  const queries = SEARCH_CASES.flatMap(({ name, text, finds, misses = [] }) => [
    ...finds.map((query) => ({ name, query, expected: text })),
    ...misses.map((query) => ({ name, query, expected: '' })),
  ]);
  const faults = queries.map(async ({ name, query, expected }) => {
    const found = (await search(query)).join('\n');
    return found === expected ? [] : [`${name}: ${JSON.stringify(query)} found ${JSON.stringify(found)}`];
  });
  return (await Promise.all(faults)).flat();
}
