import { useSyncExternalStore } from 'react';
import { isPageOutdated, onRollout } from '../live/rollout.ts';

function onConnectionChange(listener: () => void): () => void {
  for (const name of ['online', 'offline']) addEventListener(name, listener);
  return () => {
    for (const name of ['online', 'offline']) removeEventListener(name, listener);
  };
}

/** What concerns every page: no network, or a newer version of the dashboard. */
export function Notices() {
  const isOnline = useSyncExternalStore(onConnectionChange, () => navigator.onLine);
  const isOutdated = useSyncExternalStore(onRollout, isPageOutdated);
  return (
    <div role="status">
      {!isOnline && <p className="notice">This browser is offline. The last data are shown and updated when it is back.</p>}
      {isOutdated && (
        <p className="notice">
          The gateway serves a newer version of this page.{' '}
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>{' '}
          Texts that were typed and not sent are lost.
        </p>
      )}
    </div>
  );
}
