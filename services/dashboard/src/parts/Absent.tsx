import type { Absence } from '../session/presence.ts';
import { formatTime } from './format.ts';

/** Says why a part of the dashboard cannot be shown, and the remedy. */
export function Absent({ absence }: { absence: Absence }) {
  switch (absence.kind) {
    case 'not in this version':
      return <p role="status">This version does not serve {absence.method}.</p>;
    case 'forbidden':
      return (
        <p role="status">
          The token of this browser has no scope {absence.scope}, which {absence.method} requires. Sign in with a link of another token.
        </p>
      );
    case 'not answering':
      return (
        <p role="alert" className="notice">
          The service {absence.service} is installed and does not answer, seen here since {formatTime(absence.since)}. Run{' '}
          <code>switchyard doctor</code>. This page recovers by itself.
        </p>
      );
    default:
      return (
        <div role="status">
          <p>The service {absence.service} is not installed here. Its chart adds it:</p>
          <pre>
            helm install switchyard-{absence.service} deploy/helm/switchyard-{absence.service}
          </pre>
        </div>
      );
  }
}
