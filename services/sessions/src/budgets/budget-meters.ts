import type { AgentConfig } from '@switchyard/contracts';
import type { Meter } from './budget-store.ts';

type OfAgents = Pick<AgentConfig['budgets'], 'perHour' | 'perDay' | 'perHourUsd' | 'perDayUsd'>;
/** Limits per hour and per day. Money is in US dollars. */
export type Limits = { [N in keyof OfAgents]?: OfAgents[N] | undefined };

/** The subject of the limits, and the path of its settings. */
export interface Limited {
  tenant: string;
  /** `agent:<id>`, `agent:<id> client:<client>` or `token:<client>`. */
  subject: string;
  /** The subject as shown in error messages. */
  who: string;
  /** The path of the setting that holds the limits. */
  path: string;
  limits: Limits;
}

/** A meter with the fields of its error message. */
export interface NamedMeter extends Meter {
  unit: 'tokens' | 'money';
  who: string;
  path: string;
  endsAt: number;
}

export const MICRO_USD = 1_000_000;
export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Returns the current meters of a subject. Hours and days are in UTC, so all replicas use the same meters. */
export function getMeters({ limits: { perHour, perDay, perHourUsd, perDayUsd }, ...limited }: Limited, now: number): NamedMeter[] {
  return [
    ...meter(limited, { name: 'perHour', limit: perHour, unit: 'tokens' }, now),
    ...meter(limited, { name: 'perDay', limit: perDay, unit: 'tokens' }, now),
    ...meter(limited, { name: 'perHourUsd', limit: perHourUsd, unit: 'money' }, now),
    ...meter(limited, { name: 'perDayUsd', limit: perDayUsd, unit: 'money' }, now),
  ];
}

interface Limit {
  name: keyof Limits;
  limit: number | undefined;
  unit: NamedMeter['unit'];
}

function meter({ tenant, subject, who, path }: Omit<Limited, 'limits'>, { name, limit, unit }: Limit, now: number): NamedMeter[] {
  if (limit === undefined) return [];
  const ms = name.startsWith('perHour') ? HOUR_MS : DAY_MS;
  const startsAt = now - (now % ms);
  const endsAt = startsAt + ms;
  return [
    {
      tenant,
      id: `${subject} ${name} ${new Date(startsAt).toISOString().slice(0, 13)}`,
      limit: unit === 'money' ? Math.floor(limit * MICRO_USD) : limit,
      // A call can end after the period in which it began.
      forgetAt: endsAt + HOUR_MS,
      unit,
      who,
      path: `${path}.${name}`,
      endsAt,
    },
  ];
}
