import type { CallResult } from '@switchyard/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Action } from '../parts/Action.tsx';
import { call } from '../session/client.ts';
import { continueDraft, parseDraft, type Draft } from './draft.ts';
import { getDraft, setDraft } from './drafts.ts';
import { updateAgent } from './update-agent.ts';
import { createMergePatch, findRemovedEntries, wrapAt } from './merge-patch.ts';

interface ConfigWriteProps {
  path: readonly string[];
  draft: Draft;
  /** The version in force. */
  head: string | undefined;
  /** Whether somebody else changed the same value. Applying would write over it. */
  isConcurrent: boolean;
}

type Answer = CallResult<'config.patch'> | CallResult<'agents.update'>;

/** Checks and applies a draft. The write names its base version, so that it never replaces a change that its author has not seen. */
export function ConfigWrite({ path, draft, head, isConcurrent }: ConfigWriteProps) {
  const name = path.join('.');
  const [message, setMessage] = useState('');
  const [answer, setAnswer] = useState<Answer>();
  const cache = useQueryClient();
  const [section, agentId] = path;
  const send = async (dryRun: boolean): Promise<Answer> => {
    if (section === 'agents' && agentId !== undefined) return updateAgent(agentId, draft, { dryRun });
    const options = { ...(head === undefined ? {} : { baseSha: head }), ...(message === '' ? {} : { message }), dryRun };
    return call('config.patch', { ...createChange(path, draft), ...options });
  };
  const write = async (dryRun: boolean): Promise<void> => {
    setAnswer(undefined);
    try {
      const result = await send(dryRun);
      setAnswer(result);
      if (dryRun) return;
      setDraft(name, continueDraft(getDraft(name), draft, 'commitSha' in result ? result.commitSha : undefined));
    } finally {
      // A refused write may mean that somebody else was faster, which the new state shows.
      if (!dryRun) await cache.invalidateQueries({ predicate: ({ queryKey }) => /^(config|agents)\./.test(String(queryKey[0])) });
    }
  };
  return (
    <section aria-label="Change">
      <label>
        Reason, shown in the history <input value={message} onChange={(event) => setMessage(event.target.value)} autoComplete="off" />
      </label>
      <p className="tools">
        <Action label="Dry run" needs="config.patch" run={() => write(true)} />
        <Action label="Apply" needs="config.patch" disabled={isConcurrent} run={() => write(false)} />
        <button type="button" onClick={() => setDraft(name, undefined)}>
          Discard
        </button>
      </p>
      {answer && 'dryRun' in answer && <Checked {...answer} />}
    </section>
  );
}

/** The change of the draft as the patch of its section. Applying it to a newer version is safe while the value there is that of the base. */
function createChange(path: readonly string[], draft: Draft): object {
  const parsed = parseDraft(draft);
  if ('failure' in parsed) throw new Error(parsed.failure);
  const [removed] = findRemovedEntries(draft.baseValue, parsed.value, path.join('.'));
  if (removed !== undefined)
    throw new Error(`An entry of ${removed} is missing. Lists with named entries are merged; remove an entry with config.set.`);
  const patch = createMergePatch(draft.baseValue, parsed.value);
  if (patch === undefined) throw new Error('Nothing has changed.');
  return wrapAt(path, patch);
}

interface CheckedProps {
  valid: boolean;
  errors: readonly string[];
  diff?: string | undefined;
  warnings?: readonly string[] | undefined;
  notInForce?: readonly string[] | undefined;
}

function Checked({ valid, errors, diff = '', warnings = [], notInForce = [] }: CheckedProps) {
  return (
    <div role="status">
      <p>{valid ? 'The change is valid.' : 'The change is not valid.'}</p>
      <ul>
        {[...errors, ...warnings, ...notInForce.map((key) => `${key} has no effect, because no service reads it`)].map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {diff !== '' && (
        <pre tabIndex={0} role="region" aria-label="Difference from what is in force">
          {diff}
        </pre>
      )}
    </div>
  );
}
