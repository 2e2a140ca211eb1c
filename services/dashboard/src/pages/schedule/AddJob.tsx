import type { CallParams } from '@switchyard/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { formatTime } from '../../parts/format.ts';
import { call } from '../../session/client.ts';

type Schedule = CallParams<'cron.add'>['schedule'];
const KINDS: readonly Schedule['kind'][] = ['cron', 'interval', 'once'];
const LABELS = { cron: 'Cron expression', interval: 'Seconds between two runs', once: 'Time, such as 2030-01-01T08:00' };

/** A form for a job. The next fires are shown before the job is created. */
export function AddJob() {
  const [name, setName] = useDraft('job name');
  const [message, setMessage] = useDraft('job message');
  const [kind, setKind] = useState<Schedule['kind']>('cron');
  const [when, setWhen] = useDraft('job schedule');
  const [fires, setFires] = useState<readonly number[]>([]);
  const cache = useQueryClient();
  const readSchedule = (): Schedule => {
    if (kind === 'cron') return { kind, expr: when };
    return kind === 'interval' ? { kind, everyMs: Math.round(Number(when) * 1_000) } : { kind, at: when };
  };
  const preview = async (): Promise<void> => {
    const next = await call('cron.next', { schedule: readSchedule(), count: 3 });
    setFires(next.fires.map(({ atMs }) => atMs));
  };
  const add = async (): Promise<void> => {
    await call('cron.add', { name, message, schedule: readSchedule() });
    for (const clear of [setName, setMessage, setWhen]) clear('');
    setFires([]);
    await cache.invalidateQueries({ queryKey: ['cron.list'] });
  };
  return (
    <>
      <label>
        Name <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" />
      </label>
      <label>
        Message to the agent
        <textarea rows={2} value={message} onChange={(event) => setMessage(event.target.value)} />
      </label>
      <p className="tools">
        <label>
          Kind{' '}
          <select value={kind} onChange={(event) => setKind(event.target.value as Schedule['kind'])}>
            {KINDS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          {LABELS[kind]} <input value={when} onChange={(event) => setWhen(event.target.value)} autoComplete="off" />
        </label>
      </p>
      <p className="tools">
        <Action label="Show next fires" needs="cron.next" disabled={when === ''} run={preview} />
        <Action label="Add job" needs="cron.add" disabled={name === '' || message === '' || when === ''} run={add} />
      </p>
      {fires.length > 0 && <p role="status">Next fires: {fires.map((at) => formatTime(at)).join(' · ')}</p>}
    </>
  );
}
