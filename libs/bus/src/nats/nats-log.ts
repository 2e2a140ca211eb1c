import { isDeepStrictEqual } from 'node:util';
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { decodeJson, encodeJson } from '../bytes.ts';
import { busUnreachable, notProvisioned } from '../failures.ts';
import { headerLines, joinLines, type HeaderLines } from '../headers.ts';
import type { Mux } from '../mux.ts';
import type { Log, LogEntry, Message, Outgoing, Transport } from '../transport.ts';
import { isForbidden } from './nats-errors.ts';
import type { NatsLink } from './nats-link.ts';

const ACK_MS = 5_000;
const DEDUPE_MS = 120_000;
const READ_BATCH = 500;
const MEBIBYTE = 1024 * 1024;
const MAX_BYTES = { memory: 64 * MEBIBYTE, file: 512 * MEBIBYTE };

type Definition = Parameters<Transport['log']>[0];

export interface NatsLogs {
  link: NatsLink;
  manager: JetStreamManager;
  /** Acknowledgements come to an inbox of their own, because the client's `js.publish` writes and times each message alone. */
  acks: Mux;
}

/** Creates the stream, or brings the one there to its definition, where we may. */
export async function ensureStream(
  manager: JetStreamManager,
  { name, subjects, maxAgeMs, maxPerSubject, storage }: Definition,
): Promise<void> {
  const wanted = {
    name,
    subjects: [...subjects],
    storage: storage === 'memory' ? StorageType.Memory : StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(maxAgeMs),
    max_bytes: MAX_BYTES[storage],
    max_msgs_per_subject: maxPerSubject ?? -1,
    duplicate_window: nanos(Math.min(DEDUPE_MS, maxAgeMs)),
    allow_direct: true,
  };
  const present = await findStream(manager, name);
  try {
    if (present === undefined) await manager.streams.add(wanted);
    else if (!isDeepStrictEqual(present, { ...present, ...wanted })) await manager.streams.update(name, wanted);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    if (present === undefined) throw notProvisioned(`stream ${name}`, error);
  }
}

async function findStream(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
    throw error;
  }
}

export function openLog(logs: NatsLogs, definition: Definition): Log {
  return {
    async append(message, id) {
      const sent = id === undefined ? message : { ...message, headers: withId(message, id) };
      const ack = await requestAck(logs, sent);
      if (ack !== 'nobody') return ack;
      await ensureStream(logs.manager, definition);
      const second = await requestAck(logs, sent);
      if (second === 'nobody') throw busUnreachable();
      return second;
    },
    async page(subject, fromSeq, most) {
      const { entries } = await readBatch(logs, definition.name, { seq: Math.max(fromSeq, 1), next_by_subj: subject, batch: most });
      return entries;
    },
    async position() {
      const { created, state } = await logs.manager.streams.info(definition.name);
      return { name: created.replaceAll(/\W/g, '').toLowerCase(), seq: state.last_seq };
    },
    async read(subject, fromSeq = 1) {
      const entries: LogEntry[] = [];
      for (let seq = Math.max(fromSeq, 1); ;) {
        const batch = await readBatch(logs, definition.name, { seq, next_by_subj: subject });
        entries.push(...batch.entries);
        if (!batch.more) return entries;
        seq = (batch.entries.at(-1)?.seq ?? seq) + 1;
      }
    },
  };
}

function withId({ headers }: Outgoing, id: string): HeaderLines {
  const line = headerLines(['Nats-Msg-Id', id]);
  return headers === undefined ? line : joinLines(headers, line);
}

type Ack = { seq: number; duplicate: boolean };

async function requestAck(logs: NatsLogs, message: Outgoing): Promise<Ack | 'nobody'> {
  const [answer] = await ask(logs, message, () => true);
  if (answer === undefined || answer.status === 503) return 'nobody';
  const ack = decodeJson(answer.data) as { seq?: number; duplicate?: boolean; error?: { description: string } };
  if (ack.seq === undefined) throw busUnreachable(new Error(ack.error?.description ?? 'not an acknowledgement'));
  return { seq: ack.seq, duplicate: ack.duplicate ?? false };
}

/** Part of what is there, and where the rest begins. Asked of the stream directly: a consumer would have to be made and removed. */
async function readBatch(
  logs: NatsLogs,
  stream: string,
  from: { seq: number; next_by_subj: string; batch?: number },
): Promise<{ entries: LogEntry[]; more: boolean }> {
  const query = { subject: `$JS.API.DIRECT.GET.${stream}`, data: encodeJson({ batch: READ_BATCH, ...from }) };
  const answers = await ask(logs, query, ({ status }) => status !== undefined);
  const end = answers.pop();
  if (end?.status === 503) throw busUnreachable();
  return { entries: answers.map(readEntry), more: Number(answers.at(-1)?.header('Nats-Num-Pending') ?? 0) > 0 };
}

function readEntry(answer: Message): LogEntry {
  return {
    seq: Number(answer.header('Nats-Sequence')),
    subject: answer.header('Nats-Subject') ?? '',
    data: new Uint8Array(answer.data),
    header: (name) => answer.header(name),
  };
}

/** Collects the answers to one question until the last of them. */
function ask({ acks, link }: NatsLogs, question: Outgoing, isLast: (answer: Message) => boolean): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const answers: Message[] = [];
    const id = acks.open(
      {
        onMessage(answer) {
          answers.push(answer);
          if (isLast(answer) && acks.close(id)) resolve(answers);
        },
        onDeadline: () => reject(busUnreachable()),
        onLost: reject,
      },
      ACK_MS,
    );
    try {
      if (link.publish({ ...question, reply: acks.address(id), expires: performance.now() + ACK_MS })) return;
      acks.close(id);
      reject(busUnreachable());
    } catch (error) {
      acks.close(id);
      reject(error);
    }
  });
}
