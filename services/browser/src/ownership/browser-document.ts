import { ERROR_CODES, type Principal } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';

const REF_BLOCK = 1_000;
const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;

const SessionState = z.object({
  session: z.string(),
  tabs: z.array(z.object({ id: z.string(), url: z.string() })),
  focused: z.string().optional(),
});

const StartFailure = z.object({ code: z.enum(ERROR_CODES), message: z.string(), reason: z.string().optional() });
export type StartFailure = z.infer<typeof StartFailure>;

/**
 * The browser of one agent, or of one client without an agent. The replica that runs the document has the Chromium. While no browser is
 * wanted, the document is parked.
 */
export const BrowserDocument = z.object({
  ...workFields,
  browserId: z.string(),
  /** Whether a browser is to run. */
  wanted: z.boolean(),
  sessions: json(z.array(SessionState)),
  /** The number of the next tab. It never decreases, so that the id of a closed tab names no other tab. */
  nextTab: z.int().positive().default(1),
  /** The first number of references of the next replica, so that it assigns none that a caller knows from an earlier one. */
  nextRef: z.int().positive().default(1),
  /** Why the last start failed. */
  failure: json(StartFailure.nullable()).default(null),
  usedAt: z.int().nonnegative(),
});
export type BrowserDocument = z.infer<typeof BrowserDocument>;

export const browserCollection = collection({
  name: 'browsers',
  schema: BrowserDocument,
  key: 'browserId',
  maxBytes: 4_194_304,
  indexes: [workIndex, { fields: ['usedAt'] }],
  expires: { field: 'usedAt', afterMs: RETENTION_MS },
});

/** Identifies the browser and the session of a call. */
export interface BrowserKey {
  tenant: string;
  browserId: string;
  session: string;
}

export function getBrowserKey({ tenant, client, agent, session }: Principal): BrowserKey {
  return { tenant, browserId: agent === undefined ? `client:${client}` : `agent:${agent}`, session: session ?? `client:${client}` };
}

/** Numbers of the next tab and the next reference of one browser. */
export interface Numbers {
  tab: number;
  ref: number;
}

/** Continues the numbers of a stored browser. */
export function createNumbers({ nextTab, nextRef, sessions }: Pick<BrowserDocument, 'nextTab' | 'nextRef' | 'sessions'>): Numbers {
  const tabs = sessions.flatMap((session) => session.tabs.map(({ id }) => Number(/^tab_(\d+)$/.exec(id)?.[1] ?? 0)));
  return { tab: Math.max(nextTab, ...tabs.map((tab) => tab + 1)), ref: nextRef };
}

/** Returns the fields from which another replica continues. References are reserved in blocks, so that few snapshots cause a write. */
export function reserveNumbers({ tab, ref }: Numbers): Pick<BrowserDocument, 'nextTab' | 'nextRef'> {
  return { nextTab: tab, nextRef: Math.ceil(ref / REF_BLOCK) * REF_BLOCK + 1 };
}
