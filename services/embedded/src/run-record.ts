import { dirname, join } from 'node:path';
import type { Bus } from '@switchyard/bus';
import type { EventName, EventPayload, Sections } from '@switchyard/contracts';
import { openRollingFile, type RollingFile } from '@switchyard/telemetry';
import { logFileOf } from './log-file.ts';

/** What was done to the configuration: to agents, tokens and secrets, too. */
const CONTROL = /^(config|agents|tokens|env|daemon|gateway)\./;

interface Given {
  bus: Pick<Bus, 'on'>;
  settings: Pick<Sections, 'daemon' | 'observability' | 'security'>;
  data: string;
}

/**
 * Files beside the log, for whoever reads files: `config-audit.jsonl` says who changed what, `session-index.<date>.jsonl` which
 * sessions there were. Both are copies: the record and the sessions themselves are in the store.
 */
export function keepRecords({ bus, settings, data }: Given): AsyncDisposable {
  const directory = dirname(logFileOf(settings, data));
  const { maxSizeBytes, ...kept } = settings.observability.logRotation;
  const open = (name: string): RollingFile =>
    openRollingFile({ ...kept, file: join(directory, name), maxBytes: maxSizeBytes, compress: false });
  const audit = settings.security.auditLog ? open('config-audit.jsonl') : undefined;
  let index: { day: string; file: RollingFile } | undefined;

  function indexOf(at: number): RollingFile {
    const day = new Date(at).toISOString().slice(0, 10);
    if (index?.day !== day) index = { day, file: open(`session-index.${day}.jsonl`) };
    return index.file;
  }

  const note = <N extends EventName>(name: N, fileOf: (payload: EventPayload<N>) => RollingFile | undefined) =>
    bus.on(name, ({ payload, tenant }) => {
      fileOf(payload)?.write(`${JSON.stringify({ time: new Date().toISOString(), event: name, tenant, ...(payload as object) })}\n`);
    });
  const subscriptions = [
    note('audit:event', ({ actionType, metadata }) => (CONTROL.test(actionType) && metadata?.['count'] === undefined ? audit : undefined)),
    note('config:patched', () => audit),
    note('session:created', ({ timestamp }) => indexOf(timestamp)),
    note('session:expired', () => indexOf(Date.now())),
  ];
  return {
    async [Symbol.asyncDispose]() {
      for (const one of subscriptions) one.unsubscribe();
      for (const file of [audit, index?.file]) {
        if (file === undefined) continue;
        await new Promise<void>((resolve) => file.flush(() => resolve()));
        await file.settled();
      }
    },
  };
}
