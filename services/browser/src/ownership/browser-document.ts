import type { Principal } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;

const SessionState = z.object({
  session: z.string(),
  tabs: z.array(z.object({ id: z.string(), url: z.string() })),
  focused: z.string().optional(),
  nextTab: z.int().positive(),
});

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
