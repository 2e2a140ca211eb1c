/** Fields of the front matter in the spelling of `SkillHead`. */
export interface HeadFields {
  fields: Readonly<Record<string, unknown>>;
  /** The spelling in the file of each field, for errors. */
  spellings: ReadonlyMap<string, string>;
}

/** Creates the error of a front matter from the expected and the present text. */
export type Refuse = (expected: string, received: string) => Error;

/** Fields by their spelling in the public Agent Skills format. */
const PUBLIC_SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['allowed-tools', 'allowedTools'],
  ['argument-hint', 'argumentHint'],
  ['disable-model-invocation', 'disableModelInvocation'],
  ['input-schema', 'inputSchema'],
  ['user-invocable', 'userInvocable'],
]);

const PLATFORM_FIELDS: ReadonlySet<string> = new Set(['os', 'requires']);
const OS_NAMES: ReadonlyMap<string, string> = new Map([
  ['macos', 'darwin'],
  ['windows', 'win32'],
]);
/** Names separated by spaces or commas. Parentheses can enclose both, as in `Bash(git add:*)`. */
const LISTED_NAME = /(?:[^\s,()]|\([^()]{0,256}\))+/g;

/** Converts all accepted spellings and short forms to those of `SkillHead`. Two spellings of one field are refused. */
export function normalizeHead(given: Readonly<Record<string, unknown>>, refuse: Refuse): HeadFields {
  const fields = new Map<string, unknown>();
  const spellings = new Map<string, string>();

  function add(key: string, spelling: string, value: unknown): void {
    const other = spellings.get(key);
    if (other !== undefined) throw refuse(`one of the front matter fields ${other} and ${spelling}`, 'both');
    spellings.set(key, spelling);
    const normalize = NORMALIZERS.get(key);
    fields.set(key, normalize ? normalize(value) : value);
  }

  for (const [spelling, value] of Object.entries(given)) {
    if (spelling === 'platform' && isMapping(value)) {
      for (const [key, inner] of Object.entries(value)) if (PLATFORM_FIELDS.has(key)) add(key, `platform.${key}`, inner);
    } else add(PUBLIC_SPELLINGS.get(spelling) ?? spelling, spelling, value);
  }
  return { fields: Object.fromEntries(fields), spellings };
}

const NORMALIZERS: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  ['allowedTools', splitNames],
  ['os', normalizeSystems],
]);

function splitNames(value: unknown): unknown {
  return typeof value === 'string' ? (value.match(LISTED_NAME) ?? []) : value;
}

function normalizeSystems(value: unknown): unknown {
  const list = splitNames(value);
  return Array.isArray(list) ? list.map((name: unknown) => (typeof name === 'string' ? normalizeOs(name) : name)) : list;
}

function normalizeOs(name: string): string {
  const lowerCase = name.toLowerCase();
  return OS_NAMES.get(lowerCase) ?? lowerCase;
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
