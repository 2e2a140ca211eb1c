import { formatTime } from '../parts/format.ts';
import { CodeEditor } from './CodeEditor.tsx';
import type { ConfigState } from './config-state.ts';
import { formatJson, rebaseDraft, type Draft } from './draft.ts';
import { setDraft } from './drafts.ts';

interface ThreeVersionsProps {
  name: string;
  draft: Draft;
  conflicts: readonly string[];
  head: ConfigState['head'];
  inForce: unknown;
}

/** A concurrent change: the common base, what is in force now, and the draft. Nothing is written before the operator decides. */
export function ThreeVersions({ name, draft, conflicts, head, inForce }: ThreeVersionsProps) {
  const base = formatJson(draft.baseValue);
  return (
    <section role="alert" aria-label="Concurrent change" className="notice">
      <p>
        {head?.author ?? 'Somebody'} changed {name} {head && `at ${formatTime(head.date)}`} since you began.{' '}
        {conflicts.length === 0 ? 'Your changes touch other keys.' : `You both changed ${conflicts.join(', ')}.`}
      </p>
      <div className="versions">
        <Version title="When you began" text={base} />
        <Version title="In force now" text={formatJson(inForce)} original={base} />
        <Version title="Yours" text={draft.text} original={base} />
      </div>
      <p className="tools">
        <button type="button" onClick={() => setDraft(name, rebaseDraft(draft, head?.sha, inForce))}>
          Make my changes on the newest version
        </button>
        <button type="button" onClick={() => setDraft(name, undefined)}>
          Discard mine
        </button>
      </p>
    </section>
  );
}

function Version({ title, text, original }: { title: string; text: string; original?: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <CodeEditor label={title} text={text} {...(original === undefined ? {} : { original })} />
    </div>
  );
}
