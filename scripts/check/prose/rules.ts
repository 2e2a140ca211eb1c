/** A pattern of sentences that have to be read twice. A sentence whose weights add up to `UNREADABLE_SCORE` is unreadable. */
interface Rule {
  name: string;
  weight: 1 | 2;
  pattern: RegExp;
  /** Applies to the first sentence of a text only. */
  firstOnly?: true;
}

const UNREADABLE_SCORE = 2;

const PRONOUNS =
  '(?:a|an|the|any|all|each|every|no|none|one|two|some|what|who|whoever|it|its|they|these|those|this|that|there|nobody|nothing|somebody|something|everybody|everything|he|his|such|more|most|less|several|others?)';
const AUXILIARIES = '(?:is|are|was|were|be|been|has|have|had|may|can|cannot|must|might|would|could|does|did|do)';
const PERSONS = '(?:nobody|somebody|everybody|anybody|whoever|whomever|no one|everyone|someone)';
const CLAUSE_VERBS =
  'is|are|was|were|has|have|had|may|can|cannot|must|would|could|comes?|came|stands?|stood|fits?|follows?|waits?|runs?|reads?|writes?|asks?|asked|says?|said|wants?|makes?|made|gets?|takes?|took|holds?|held|needs?|lies|lay|goes|went|ended|ends|begins?|began|remains?|there|it|they|he|she|the|a|an|this|that|these|those|one|nobody|somebody|nothing|each|any|no|does|did|else|changed?|fails?|failed|belongs|differs|serves?|sends?|sent|owns?|calls?|called|opens?|opened|died|dies|lives?|uses?|used|lost|left|leaves';
const BEFORE_CLAUSE =
  'of|to|from|for|by|with|than|in|on|at|after|before|behind|beside|beyond|over|under|about|as|and|or|but|nor|not|only|is|are|was|were|says|said|knows|has|have|takes|gives|keeps|leaves|tells|reads|makes|counts';

const RULES: readonly Rule[] = [
  {
    name: 'a relative clause as the subject (who)',
    weight: 2,
    pattern: /^(?:(?:and|but|for|so that|only) )?(?:who|whoever|whom|whose|whomever)\b(?!['’]s next)/i,
  },
  {
    name: 'a relative clause as the subject (what)',
    weight: 2,
    pattern:
      /^(?:(?:and|but|for|only|all of|all) )?(?:what|whatever|whichever)\b(?!(?: to (?:do|expect|use|know))\b)(?! happens (?:when|if)\b)(?!['’]s\b)(?! (?:is|are) [^.]*\?$)/i,
  },
  {
    name: 'a place clause as the subject (where)',
    weight: 2,
    pattern: new RegExp(
      String.raw`^where (?:${PRONOUNS}|${AUXILIARIES})\b(?! (?:possible|applicable|available|appropriate|necessary|needed))`,
      'i',
    ),
  },
  { name: 'a genitive before its noun (Of …)', weight: 2, pattern: /^(?:and |but )?of (?!course\b|note\b|interest\b)(?:[a-z`])/i },
  {
    name: 'a preposition before a pronoun',
    weight: 1,
    pattern:
      /^(?:to|from|with|for|by|beside|behind|before|beyond|among|within|without|under) (?:what|whom|who|whoever|nobody|each|such)\b/i,
  },
  {
    name: 'a quantity without a noun (So many …)',
    weight: 2,
    pattern:
      /^(?:at most )?(?:so|as) (?:many|much|often|long|large|few|far|soon|late)\b(?! as possible)(?! as (?:you|the|a|an|it|this|we|they|there)\b)/i,
  },
  {
    name: 'a quantity that refers back (so many)',
    weight: 1,
    pattern: /\b(?:so (?:many|much|often|long)|as many|as much)(?=[ ,.;)]|$)(?! as (?:possible|you|the|a|an|needed|necessary))/i,
  },
  {
    name: 'a comparison with a pronoun (As it …)',
    weight: 2,
    pattern: /^as (?:they|it|he|one|somebody|nobody|whoever|what|a reader|given|before|it (?:is|was|stands|came|goes))\b[^.]{0,60}$/i,
  },
  { name: 'a subordinate clause alone', weight: 1, pattern: /^(?:how|which|when|why) (?!to\b)(?:[^?]{3,80})$/i },
  { name: 'a program called a person', weight: 1, pattern: new RegExp(String.raw`\b${PERSONS}(?:['’]s|\b)`, 'i') },
  {
    name: 'two persons for programs',
    weight: 1,
    pattern:
      /\b(?:nobody|somebody|everybody|anybody|whoever)\b[^.]*\b(?:nobody|somebody|everybody|anybody|whoever|he|him|his|who|whom|whose)\b/i,
  },
  {
    name: 'a relative clause as the object',
    weight: 1,
    pattern: new RegExp(String.raw`\b(?:${BEFORE_CLAUSE}) (?:what|whatever|who|whoever|whom|whose) (?:${CLAUSE_VERBS})\b`, 'i'),
  },
  {
    name: 'a relative clause after a comma',
    weight: 1,
    pattern:
      /[,;:] (?:what|who|whoever|whose|whom) (?:is|are|was|were|has|have|comes|came|stands|fits|follows|waits|they|it|he|one|nobody|somebody|a|the)\b/i,
  },
  {
    name: 'a verb of speech for software',
    weight: 1,
    pattern:
      /\b(?:(?:is|are|was|were|be|been|being|gets?|it|they|them|him|whom) (?:not |never |also |only |still )?(?:told|said|asked|heard|meant|spoken)|tell(?:s|ing)? (?:of|it|so|nobody|everybody|whoever|them|him|others)|told (?:of|so|it|nobody|again|to)|sa(?:ys|id) (?:so|nothing|of|it|who|whose|which|that it is)|speaks? (?:of|to|for))\b/i,
  },
  {
    name: 'a negated noun (is none, has no …)',
    weight: 1,
    pattern:
      /\b(?:is|are|was|were|has|have|had|does|costs?|says|holds?|needs?|gives|finds|leaves|takes|knows|wants|means) (?:none|nobody|nothing|no (?!longer\b|op\b|effect\b|more than\b)\w+)/i,
  },
  {
    name: 'an inverted sentence',
    weight: 1,
    pattern:
      /^(?:so|thus|then|there|here|else|nor|neither|only then|with it|for this|from there|in it|on it) (?:is|are|was|were|does|do|has|have|may|can|must|comes?|goes|stands?)\b/i,
  },
  {
    name: 'an archaic phrase',
    weight: 1,
    pattern:
      /\b(?:whence|anew|upon each other|all the same|at a glance|for good|for ever|be it|is to be had|are to be had|lest|thereof|howsoever|by heart|as (?:it|they) (?:is|are|was|were|came|come|went|stands?|stood)(?= *(?:[.;,:)]|$))|comes? back to|stands? (?:there|in|on|at|beside|before|behind|for|with)|goes on(?! (?:to|the))|go on(?: with| there|[.,;])|on its way|its like|and the like|of its own|of their own|by (?:itself|themselves)|no more(?= *(?:[.;,]|$))|any more|besides(?= *(?:[.;,]|$))|twice is|than any|as any\b(?! of)|yet(?= *[.;]))\b/i,
  },
  {
    name: 'a pronoun as the first subject',
    weight: 1,
    pattern:
      /^(?:it|they|them|these|those|such|both|all of it|the same|another|others|one) (?!is (?:recommended|possible|important|safe|not (?:safe|recommended|possible)))\b/i,
    firstOnly: true,
  },
  { name: 'a program called he', weight: 2, pattern: /\b(?:he|his|him)\b(?!\s*\/)/ },
  {
    name: 'a phrase without a verb',
    weight: 1,
    pattern:
      /^(?:in|of|at|by|for|from|beside|behind|before|after|until|since|without|as) (?:a row|one|what|whom|all|its|their|nobody|everybody|every|each|any|this|that|those)\b[^.]{0,40}$/i,
  },
  {
    name: 'an aphorism (X is the same Y)',
    weight: 1,
    pattern: /\b(?:is|are) (?:not )?(?:the|a) (?:truth|matter|same|other'?s|sign|news|word|words|place|end|beginning|judge)\b/i,
  },
];

/** Returns the names of the rules that a sentence breaks, or an empty list when it is readable. */
export function findProseFaults(sentence: string, isFirst: boolean): string[] {
  const broken = RULES.filter((rule) => (isFirst || !rule.firstOnly) && rule.pattern.test(sentence));
  const score = broken.reduce((sum, rule) => sum + rule.weight, 0);
  return score >= UNREADABLE_SCORE ? broken.map((rule) => rule.name) : [];
}
