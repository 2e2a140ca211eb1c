import type { MethodName } from '@switchyard/contracts';
import type { ReactNode } from 'react';
import { useAbsence, type Absence } from '../session/presence.ts';

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
      {absence && <Reason absence={absence} />}
      {(absence === undefined || absence.kind === 'not answering') && <div className={absence && 'stale'}>{children}</div>}
    </>
  );
}

function Reason({ absence }: { absence: Absence }) {
  if (absence.kind === 'not in this version') return <p role="status">This version does not serve {absence.method}.</p>;
  const { service } = absence;
  if (absence.kind === 'not answering')
    return (
      <p role="alert" className="notice">
        The service {service} is installed and does not answer. Run <code>switchyard doctor</code>. This page recovers by itself.
      </p>
    );
  return (
    <div role="status">
      <p>The service {service} is not installed here. Its chart adds it:</p>
      <pre>
        helm install switchyard-{service} deploy/helm/switchyard-{service}
      </pre>
    </div>
  );
}
