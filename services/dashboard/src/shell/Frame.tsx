import { Link, Outlet } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { getHubState, onHubChange } from '../live/event-hub.ts';
import { formatTime } from '../parts/format.ts';
import { GROUPS } from '../pages/page.ts';
import { pages } from '../pages/pages.ts';
import { signOut } from '../session/browser-token.ts';
import { Notices } from './Notices.tsx';
import { Palette } from './Palette.tsx';

/** Navigation, the palette, the state of the event stream, and the page. */
export function Frame() {
  return (
    <div className="frame">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <header>
        <strong>Switchyard</strong>
        <Palette />
        <StreamAge />
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </header>
      <nav aria-label="Pages">
        {GROUPS.map((group) => (
          <section key={group}>
            <h2>{group}</h2>
            <ul>
              {pages
                .filter((page) => page.group === group)
                .map(({ path, title }) => (
                  <li key={path}>
                    <Link to={path} activeOptions={{ exact: true, includeSearch: false }}>
                      {title}
                    </Link>
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </nav>
      <main id="page" tabIndex={-1}>
        <Notices />
        <Outlet />
      </main>
    </div>
  );
}

/** Until when the events are known. It is a component of its own, because it may change with each frame. */
function StreamAge() {
  const { aliveAt } = useSyncExternalStore(onHubChange, getHubState);
  return <span className="age">{aliveAt === undefined ? 'connecting to events' : `events up to ${formatTime(aliveAt)}`}</span>;
}
