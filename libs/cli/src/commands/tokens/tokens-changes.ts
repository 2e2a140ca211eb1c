import type { CallParams } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { wrongUsage } from '../../output/failure.ts';
import { instantOf, listOf, textOf } from '../../arguments/flags.ts';
import type { Given } from '../../arguments/command-group.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';

type Budgets = NonNullable<CallParams<'tokens.create'>['budgets']>;

export async function createToken({ call, flags, output }: Given, id: string): Promise<void> {
  const { scopes = 'rpc', own, lenient, agents, expires, budget } = flags;
  const asked = {
    id,
    scopes: listOf(scopes),
    ...(own === undefined ? {} : { sessions: 'own' }),
    ...(lenient === undefined ? {} : { lenient: true }),
    ...(agents === undefined ? {} : { agents: listOf(agents) }),
    ...(expires === undefined ? {} : { expiresAt: new Date(instantOf(expires, 'expires')).toISOString() }),
    ...(budget === undefined ? {} : { budgets: budgetsOf(budget) }),
    ...mcpClientOf(flags),
    ...textOf(flags, 'tenant', 'tenant'),
  };
  const answer = await call('tokens.create', asked as CallParams<'tokens.create'>);
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.secret}\n`);
  remark(`${answer.id} may ${answer.scopes.join(', ')}. This is its secret, which is shown this once.`);
}

export async function rotateToken({ call, flags, output }: Given, id: string): Promise<void> {
  const answer = await call('tokens.rotate', { id, ...textOf(flags, 'tenant', 'tenant') });
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.secret}\n`);
  remark(`${answer.id} has this secret now, which is shown this once. The old one is dead.`);
}

export async function revokeToken({ call, flags, output }: Given, id: string): Promise<void> {
  await confirm(`Whoever has the token ${id} is locked out at once.`, flags, `${self()} tokens rotate ${quote(id)}`);
  const answer = await call('tokens.revoke', { id, ...textOf(flags, 'tenant', 'tenant') });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.id} is ended\n`);
}

function mcpClientOf({ tools, sessions }: Given['flags']): { mcpClient?: object } {
  if (tools === undefined && sessions === undefined) return {};
  return { mcpClient: { allowlist: listOf(tools ?? ''), ...(sessions === undefined ? {} : { sessionAllowlist: listOf(sessions) }) } };
}

const LIMITS = { hour: { tokens: 'perHour', usd: 'perHourUsd' }, day: { tokens: 'perDay', usd: 'perDayUsd' } } as const;

/** Parses budgets such as `200000/hour,5usd/day`. */
export function budgetsOf(text: string): Budgets {
  const budgets: Budgets = {};
  for (const part of listOf(text)) {
    const [, amount, money, span] = /^(\d+(?:\.\d+)?)(usd)?\/(hour|day)$/i.exec(part) ?? [];
    const name = span === undefined ? undefined : LIMITS[span.toLowerCase() as 'hour' | 'day'][money === undefined ? 'tokens' : 'usd'];
    if (name === undefined || name in budgets) throw noBudget(part);
    budgets[name] = Number(amount);
  }
  return budgets;
}

function noBudget(part: string): Error {
  return wrongUsage(`--budget is such as 200000/hour,5usd/day, each once; not ${part}.`, `${self()} tokens create --help`);
}
