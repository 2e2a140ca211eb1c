import type { Bus } from '@switchyard/bus';
import { TICKETS_BUCKET } from '@switchyard/contracts';
import { hashToken, mintId } from '@switchyard/security';
import { z } from 'zod';
import type { Tokens } from './tokens.ts';
import type { Caller } from '../request/caller.ts';

const TICKET = /^ticket_[0-9A-Za-z]{22}$/;
/** What the bucket has of a ticket. */
export const KeptTicket = z.object({
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

/** Stand for a token once, for a minute, where a secret would stand in an address. They do what the token does, while it does. */
export interface Tickets {
  /** One of the caller's. Where a page asks, no page of another origin can use it. */
  make(caller: Caller, origin: string | undefined): Promise<Ticket>;
  /**
   * Whose it is, and nobody's from then on, whichever gateway is asked. Undefined for what was used, is too old or was never made, and
   * where its token is no more. Throws while the bus is away.
   */
  spend(ticket: string, origin: string | undefined): Promise<Caller | undefined>;
}

/** Only a ticket's hash is kept, so that whoever reads the bucket has none. */
export async function openTickets({ bus, tokens }: { bus: Bus; tokens: Pick<Tokens, 'byRecord'> }): Promise<Tickets> {
  const bucket = await bus.kv(TICKETS_BUCKET);
  const livesMs = TICKETS_BUCKET.ttlMs;
  return {
    async make({ record: token, ver }, origin) {
      const ticket = mintId('ticket');
      const expiresAt = Date.now() + livesMs;
      const kept: z.infer<typeof KeptTicket> = { token, ver, expiresAt, ...(origin === undefined ? {} : { origin }) };
      await bucket.put(hashToken(ticket), Buffer.from(JSON.stringify(kept)));
      return { ticket, expiresAt };
    },
    async spend(ticket, origin) {
      if (!TICKET.test(ticket)) return undefined;
      const key = hashToken(ticket);
      const entry = await bucket.get(key);
      if (entry?.value === undefined) return undefined;
      const { data: kept } = KeptTicket.safeParse(JSON.parse(Buffer.from(entry.value).toString()));
      if (kept === undefined || kept.expiresAt <= Date.now()) return undefined;
      // Of all who come with it at once, one writes over the revision that all have read. Who comes from elsewhere has spent it too.
      if ((await bucket.update(key, USED, entry.revision)) === undefined) return undefined;
      if (kept.origin !== undefined && origin !== undefined && origin !== kept.origin) return undefined;
      const caller = tokens.byRecord(kept.token);
      return caller?.ver === kept.ver ? caller : undefined;
    },
  };
}
