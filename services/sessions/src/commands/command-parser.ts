/** A message that is processed without a model. */
export interface Command {
  name: CommandName;
  /** The text after the command name. */
  args: string;
}

/** The directives at the start of a message, and the remaining text for the model. */
export interface Directed {
  text: string;
  /** Maximum tokens for the turn. */
  budget?: number;
  /** Name of the skill that the user invokes, as it was written. The text holds its arguments and may be empty. */
  skill?: string;
  /** Directives that have no effect yet because no model receives them. */
  without: string[];
}

/** Undefined if the message has neither a command nor a directive. The model then receives the whole message. */
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
  'label',
  'approve',
  'deny',
  'answer',
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** Commands that can prefix a message, with the pattern of their argument. */
const DIRECTIVES = {
  think: /^(off|minimal|low|medium|high|xhigh)$/i,
  verbose: /^(on|off)$/i,
  reasoning: /^(on|off)$/i,
  budget: /^\d+(\.\d+)?[km]$/i,
};
type Directive = keyof typeof DIRECTIVES;

const NAMED = /^\/([a-z-]+)(?=\s|$)/i;
const SKILL = /^\/skill:(\S+)/i;
const LEAST_BUDGET = 10_000;
const MAX_BUDGET = 10_000_000;

/** Parses commands and directives. An unknown name is ordinary text, because a message can begin with a path. */
export function parseMessage(message: string): Parsed {
  if (!message.startsWith('/')) return undefined;
  const directed: Directed = { text: message.trim(), without: [] };
  for (let isFound = false; ; isFound = true) {
    const skill = SKILL.exec(directed.text);
    // The arguments of a skill are its own, whatever they begin with.
    if (skill) return { directed: { ...directed, skill: skill[1] ?? '', text: directed.text.slice(skill[0].length).trim() } };
    const command = commandAt(directed.text);
    if (!command) return isFound ? { directed } : undefined;
    const [word = ''] = command.args.split(/\s+/, 1);
    const rest = command.args.slice(word.length).trim();
    // A directive without text after it is a command.
    if (rest === '' || !isDirective(command.name) || !DIRECTIVES[command.name].test(word)) return isFound ? { directed } : { command };
    if (command.name === 'budget' && readBudget(word) === undefined) return { command };
    direct(directed, { name: command.name, word, rest });
  }
}

function commandAt(text: string): Command | undefined {
  const found = NAMED.exec(text);
  const name = COMMANDS.find((one) => one === found?.[1]?.toLowerCase());
  return found && name !== undefined ? { name, args: text.slice(found[0].length).trim() } : undefined;
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

/** Parses `500k` or `2m`. Returns undefined for an amount outside the permitted range. */
export function readBudget(word: string): number | undefined {
  if (!DIRECTIVES.budget.test(word)) return undefined;
  const tokens = Number.parseFloat(word) * (word.toLowerCase().endsWith('k') ? 1_000 : 1_000_000);
  return tokens >= LEAST_BUDGET && tokens <= MAX_BUDGET ? Math.round(tokens) : undefined;
}

/** The response to a directive that has no effect yet. */
export function notInForce(name: string): string {
  return `/${name} has no effect yet: no model of this gateway supports it.`;
}
