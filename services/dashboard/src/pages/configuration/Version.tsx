import type { CallResult } from '@switchyard/client';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { formatTime } from '../../parts/format.ts';
import { formatAuthor, SHORT } from './author.ts';
import { Changes } from './Changes.tsx';
import { RollBack } from './RollBack.tsx';

interface VersionProps {
  sha: string;
  /** The history, newest first. */
  entries: CallResult<'config.history'>['entries'];
}

/** One change of the configuration: who made it, the old and new values, how to take it back, and what was changed after it. */
export function Version({ sha, entries }: VersionProps) {
  const at = entries.findIndex((entry) => entry.sha === sha);
  const entry = entries[at];
  return (
    <section aria-label="Selected change">
      <h3>Change {sha.slice(0, SHORT)}</h3>
      {entry === undefined ? (
        <p className="empty">This version is not among the newest {entries.length}.</p>
      ) : (
        <p className="headline">
          {formatAuthor(entry)}, {formatTime(entry.date)}: {entry.message}
        </p>
      )}
      <Changes to={sha} />
      {entry?.parent !== undefined && (
        <p className="tools">
          <RollBack label="Roll back this change" sha={entry.parent} head={entries[0]?.sha} />
          {at > 0 && ` The ${at} later ${at === 1 ? 'change is' : 'changes are'} taken back as well.`}
        </p>
      )}
      <CopyAs method="config.diff" params={{ to: sha }} />
      {at > 0 && (
        <details>
          <summary>Changes since this version</summary>
          <Changes sha={sha} />
        </details>
      )}
    </section>
  );
}
