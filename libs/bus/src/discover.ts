import { Replica } from '@switchyard/contracts';
import { z } from 'zod';
import { PING, PING_TYPE } from './announce.ts';
import { decodeText, EMPTY } from './bytes.ts';
import { busUnreachable } from './failures.ts';
import type { Message } from './transport.ts';
import type { Wire } from './wire.ts';

/** Nobody knows how many will answer, so whoever asks waits this long. */
const WINDOW_MS = 250;
const MOST_ANSWERS = 1_000;
/** Who says more about itself than this is none of ours. */
const LONGEST_ANSWER = 4_096;
const NO_RESPONDERS = 503;

const Ping = z
  .object({
    type: z.literal(PING_TYPE),
    name: z.string(),
    version: z.string(),
    metadata: z.object({ replica: z.string(), started: z.iso.datetime(), pid: z.coerce.number(), host: z.string() }),
  })
  .transform(({ name, version, metadata: { replica, started, pid, host } }) => ({
    service: name,
    replica,
    version,
    startedAt: Date.parse(started),
    pid,
    host,
  }))
  .pipe(Replica);

/** Asks all at once, and gathers who answers in time, each replica once, in the order of their names. */
export function discover({ transport, mux }: Wire): Promise<Replica[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Replica[]>();
  const found = new Map<string, Replica>();
  const finish = (): void => resolve([...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, replica]) => replica));

  const id = mux.open(
    {
      onMessage(message) {
        const replica = readAnswer(message);
        if (replica) found.set(`${replica.service}.${replica.replica}`, replica);
        if (message.status !== NO_RESPONDERS && found.size < MOST_ANSWERS) return;
        mux.close(id);
        finish();
      },
      onDeadline: finish,
      onLost: reject,
    },
    WINDOW_MS,
  );
  const asked = transport.connected() && transport.publish({ subject: PING, data: EMPTY, reply: mux.address(id) });
  if (!asked && mux.close(id)) reject(busUnreachable());
  return promise;
}

/** Others may share the bus: what is not one of our replicas is passed over. */
function readAnswer({ data, status }: Message): Replica | undefined {
  if (status !== undefined || data.length > LONGEST_ANSWER) return undefined;
  try {
    return Ping.safeParse(JSON.parse(decodeText(data))).data;
  } catch {
    return undefined;
  }
}
