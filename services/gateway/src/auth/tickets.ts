import type { Bus } from '@switchyard/bus';
import { TICKETS_BUCKET } from '@switchyard/contracts';
import { hashToken, mintId } from '@switchyard/security';
import { z } from 'zod';
import type { Tokens } from './tokens.ts';
import type { Caller } from '../request/caller.ts';

const TICKET = /^ticket_[0-9A-Za-z]{22}$/;
/** The bucket entry of a ticket. */
export const StoredTicket = z.object({
  token: z.string().max(1_024),
  ver: z.int(),
  origin: z.string().max(1_024).optional(),
  expiresAt: z.int(),
});
const USED = Buffer.from('{"used":true}');

export interface Ticket {
  ticket: string;
  /** Epoch milliseconds. */
  expiresAt: number;
}

/** One-time tickets that replace a token in a URL for one minute. A ticket has the rights of its token and ends with it. */
export interface Tickets {
  /** Issues a ticket of the caller. With an origin, pages of another origin cannot use it. */
  issue(caller: Caller, origin: string | undefined): Promise<Ticket>;
  /**
   * Returns the caller and invalidates the ticket on every gateway. Undefined for a used, expired or unknown ticket, and when its token
   * has ended. Throws while the bus is unavailable.
   */
  redeem(ticket: string, origin: string | undefined): Promise<Caller | undefined>;
}

/** The bucket stores only the hash of a ticket, so that a reader of the bucket cannot use it. */
export async function openTickets({ bus, tokens }: { bus: Bus; tokens: Pick<Tokens, 'findByRecord'> }): Promise<Tickets> {
  const bucket = await bus.kv(TICKETS_BUCKET);
  const ttlMs = TICKETS_BUCKET.ttlMs;
  return {
    async issue({ record: token, ver }, origin) {
      const ticket = mintId('ticket');
      const expiresAt = Date.now() + ttlMs;
      const stored: z.infer<typeof StoredTicket> = { token, ver, expiresAt, ...(origin === undefined ? {} : { origin }) };
      await bucket.put(hashToken(ticket), Buffer.from(JSON.stringify(stored)));
      return { ticket, expiresAt };
    },
    async redeem(ticket, origin) {
      if (!TICKET.test(ticket)) return undefined;
      const key = hashToken(ticket);
      const entry = await bucket.get(key);
      if (entry?.value === undefined) return undefined;
      const { data: stored } = StoredTicket.safeParse(JSON.parse(Buffer.from(entry.value).toString()));
      if (stored === undefined || stored.expiresAt <= Date.now()) return undefined;
      // One of several concurrent attempts updates the revision. An attempt from another origin uses the ticket up too.
      if ((await bucket.update(key, USED, entry.revision)) === undefined) return undefined;
      if (stored.origin !== undefined && origin !== undefined && origin !== stored.origin) return undefined;
      const caller = tokens.findByRecord(stored.token);
      return caller?.ver === stored.ver ? caller : undefined;
    },
  };
}
