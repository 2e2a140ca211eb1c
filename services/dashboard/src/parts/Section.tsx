import type { MethodName } from '@switchyard/contracts';
import type { ReactNode } from 'react';
import { useAbsence } from '../session/presence.ts';
import { Absent } from './Absent.tsx';

interface SectionProps {
  title: string;
  /** The section cannot show anything without these methods. The rest of the page does not depend on them. */
  needs?: readonly MethodName[];
  children: ReactNode;
}

/** A part of a page with a heading. It says why its service cannot serve it; a service that does not answer keeps the last data, greyed. */
export function Section({ title, needs = [], children }: SectionProps) {
  const absence = useAbsence(needs);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {absence && <Absent absence={absence} />}
      {(absence === undefined || absence.kind === 'not answering') && <div className={absence && 'stale'}>{children}</div>}
    </section>
  );
}
