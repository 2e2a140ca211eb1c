import type { MethodName } from '@switchyard/contracts';
import type { ReactNode } from 'react';
import { Absent } from '../parts/Absent.tsx';
import { useAbsence } from '../session/presence.ts';

interface PresenceGuardProps {
  title: string;
  needs: readonly MethodName[];
  children: ReactNode;
}

/** Renders a page, or why its service cannot serve it. A service that does not answer keeps the last data of the page, greyed. */
export function PresenceGuard({ title, needs, children }: PresenceGuardProps) {
  const absence = useAbsence(needs);
  return (
    <>
      <h1>{title}</h1>
      {absence && <Absent absence={absence} />}
      {(absence === undefined || absence.kind === 'not answering') && <div className={absence && 'stale'}>{children}</div>}
    </>
  );
}
