/** A message that is answered without a model. */
export interface Command {
  name: CommandName;
  /** What stands after the name. */
  args: string;
}

/** What a message says about how it is to be answered, and what is left of it for the model. */
export interface Directed {
  text: string;
  /** Tokens that its turn may use. */
  budget?: number;
  /** Directives that no model here is told of. */
  without: string[];
}

/** Whatever else a message says, it is the model's to read. */
export type Parsed = { command: Command; directed?: undefined } | { directed: Directed; command?: undefined } | undefined;

const COMMANDS = [
  'think',
  'verbose',
  'reasoning',
  'context',
  'status',
  'usage',
  'config',
  'model',
  'new',
  'reset',
  'compact',
  'export',
  'export-trajectory',
  'stop',
  'fork',
  'branch',
  'budget',
  'skill',
  'label',
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** Commands that may have a message behind them, and what of it is theirs. */
const DIRECTIVES = {
  think: /^(off|minimal|low|medium|high|xhigh)$/i,
  verbose: /^(on|off)$/i,
  reasoning: /^(on|off)$/i,
  budget: /^\d+(\.\d+)?[km]$/i,
};
type Directive = keyof typeof DIRECTIVES;

const NAMED = /^\/([a-z-]+)(?::(\S+))?(?=\s|$)/i;
const LEAST_BUDGET = 10_000;
const MOST_BUDGET = 10_000_000;

/** Only a name that is known makes a command: a message may begin with a path. */
export function parseMessage(message: string): Parsed {
  if (!message.startsWith('/')) return undefined;
  const directed: Directed = { text: message.trim(), without: [] };
  for (let found = false; ; found = true) {
    const command = commandAt(directed.text);
    if (!command) return found ? { directed } : undefined;
    const [word = ''] = command.args.split(/\s+/, 1);
    const rest = command.args.slice(word.length).trim();
    // With nothing behind it a directive is a command of its own.
    if (rest === '' || !isDirective(command.name) || !DIRECTIVES[command.name].test(word)) return found ? { directed } : { command };
    if (command.name === 'budget' && readBudget(word) === undefined) return { command };
    direct(directed, { name: command.name, word, rest });
  }
}

function commandAt(text: string): Command | undefined {
  const found = NAMED.exec(text);
  const name = COMMANDS.find((one) => one === found?.[1]?.toLowerCase());
  // Only a skill is named behind a colon.
  if (!found || name === undefined || (name === 'skill') !== (found[2] !== undefined)) return undefined;
  return { name, args: `${found[2] ?? ''} ${text.slice(found[0].length).trim()}`.trim() };
}

function isDirective(name: CommandName): name is Directive {
  return Object.hasOwn(DIRECTIVES, name);
}

function direct(directed: Directed, { name, word, rest }: { name: Directive; word: string; rest: string }): void {
  directed.text = rest;
  const budget = name === 'budget' ? readBudget(word) : undefined;
  if (budget === undefined) directed.without.push(name);
  else directed.budget = budget;
}

/** `500k`, `2m`; undefined for what is less or more than a turn may be given so. */
export function readBudget(word: string): number | undefined {
  if (!DIRECTIVES.budget.test(word)) return undefined;
  const tokens = Number.parseFloat(word) * (word.toLowerCase().endsWith('k') ? 1_000 : 1_000_000);
  return tokens >= LEAST_BUDGET && tokens <= MOST_BUDGET ? Math.round(tokens) : undefined;
}

/** What somebody is told of a directive that changes nothing. */
export function notInForce(name: string): string {
  return `/${name} is not in force: no model here is told of it yet.`;
}
