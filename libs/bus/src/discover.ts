import { Replica } from '@switchyard/contracts';
import { DISCOVERY, PING, PING_TYPE } from './announce.ts';
import { decodeText, EMPTY } from './bytes.ts';
import { busUnreachable } from './failures.ts';
import type { Message } from './transport.ts';
import type { Wire } from './wire.ts';

/** How long answers are collected: it is not known how many will come. */
const WINDOW_MS = 250;
const MOST_ANSWERS = 1_000;
/** A longer announcement is not from one of our services. */
const LONGEST_ANSWER = 4_096;
const NO_RESPONDERS = 503;

/** As a replica of ours announces itself; whatever it is, it is checked. */
interface Ping {
  type: unknown;
  name: unknown;
  version: unknown;
  metadata: { replica: unknown; started: unknown; pid: unknown; host: unknown };
}

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
  const asked = transport.connected() && transport.publish({ subject: PING, data: EMPTY, reply: mux.address(id, DISCOVERY) });
  if (!asked && mux.close(id)) reject(busUnreachable());
  return promise;
}

/** Others may share the bus: what is not one of our replicas is passed over. */
function readAnswer({ data, status }: Message): Replica | undefined {
  if (status !== undefined || data.length > LONGEST_ANSWER) return undefined;
  try {
    const { type, name, version, metadata } = JSON.parse(decodeText(data)) as Ping;
    if (type !== PING_TYPE) return undefined;
    const { replica, started, pid, host } = metadata;
    return Replica.safeParse({ service: name, replica, version, startedAt: Date.parse(String(started)), pid: Number(pid), host }).data;
  } catch {
    return undefined;
  }
}
