import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';
import { Screenshot } from './Screenshot.tsx';

/** The headless browser of this client: its tabs, a picture of the focused one, and its console. */
export function Browser() {
  const status = useCall('browser.status', {});
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('browser.') });
  return (
    <Loaded query={status}>
      {({ running, url, tabCount, chromeVersion, notRestored = [] }) => (
        <>
          <Facts facts={{ State: running ? 'running' : 'stopped', Address: url, Tabs: tabCount, Version: chromeVersion }} />
          {notRestored.length > 0 && <p role="note">Lost when another process took the browser over: {notRestored.join(', ')}</p>}
          <p className="tools">
            {running ? (
              <Action label="Stop" needs="browser.stop" run={() => call('browser.stop', {}).then(refresh)} />
            ) : (
              <Action label="Start" needs="browser.start" run={() => call('browser.start', {}).then(refresh)} />
            )}
          </p>
          {running && (
            <>
              <Navigate onDone={refresh} />
              <Screenshot />
              <Tabs onDone={refresh} />
              <Console />
            </>
          )}
          <CopyAs method="browser.status" params={{}} />
        </>
      )}
    </Loaded>
  );
}

function Navigate({ onDone }: { onDone: () => Promise<void> }) {
  const [url, setUrl] = useDraft('browser address');
  return (
    <p className="tools">
      <label>
        Address <input value={url} onChange={(event) => setUrl(event.target.value)} autoComplete="off" />
      </label>
      <Action label="Open" needs="browser.navigate" disabled={url === ''} run={() => call('browser.navigate', { url }).then(onDone)} />
    </p>
  );
}

function Tabs({ onDone }: { onDone: () => Promise<void> }) {
  const tabs = useCall('browser.tabs', {});
  return (
    <>
      <h2>Tabs</h2>
      <Loaded query={tabs}>
        {({ tabs: rows }) => (
          <DataTable
            label="tabs"
            columns={['title', 'url']}
            rows={rows}
            actions={({ id }) => (
              <Action label="Close" needs="browser.close" run={() => call('browser.close', { tabId: String(id) }).then(onDone)} />
            )}
          />
        )}
      </Loaded>
    </>
  );
}

function Console() {
  const console = useCall('browser.console', {});
  return (
    <>
      <h2>Console</h2>
      <Loaded query={console}>
        {({ entries }) => (
          <DataTable
            label="console"
            columns={['time', 'level', 'text', 'location']}
            rows={entries.map((entry) => ({ ...entry, time: formatTime(entry.timestamp) })).toReversed()}
          />
        )}
      </Loaded>
    </>
  );
}
