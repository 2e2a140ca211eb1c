import { formatCount, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { LongText } from '../../parts/LongText.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { useCall } from '../../parts/use-call.ts';

/** The newest messages of the session that are searched for those before the turn. */
const READ_MESSAGES = 1_000;
/** Earlier messages that are shown; the page of the session has all of them. */
const SHOWN_MESSAGES = 20;

interface EarlierMessagesProps {
  sessionKey: string;
  /** When the message of the turn arrived, in epoch milliseconds. */
  before: number;
  /** How many messages the prompt contained before it. */
  count: number;
}

/** The messages of earlier turns that the prompt contained. */
export function EarlierMessages({ sessionKey, before, count }: EarlierMessagesProps) {
  return (
    <>
      <h3>Earlier messages</h3>
      {count === 0 ? (
        <p className="empty">The prompt contained no earlier message.</p>
      ) : (
        <>
          <p>
            {formatCount(count)} of{' '}
            <PageLink to="/sessions" search={{ session: sessionKey }}>
              the session
            </PageLink>
          </p>
          <Messages sessionKey={sessionKey} before={before} count={count} />
        </>
      )}
    </>
  );
}

function Messages({ sessionKey, before, count }: EarlierMessagesProps) {
  const history = useCall('session.history', { session_key: sessionKey, limit: READ_MESSAGES });
  return (
    <Loaded query={history}>
      {({ messages }) => {
        // The message of the turn has the time at which it arrived. Messages of a queued turn before it may be newer.
        const own = messages.findIndex(({ role, timestamp }) => role === 'user' && timestamp === before);
        const shown = own < 0 ? [] : messages.slice(Math.max(0, own - Math.min(count, SHOWN_MESSAGES)), own);
        if (shown.length === 0) return <p className="empty">They are not among the newest messages of the session.</p>;
        return (
          <ol className="plain-list" aria-label="Earlier messages">
            {shown.map(({ role, content, timestamp }, index) => (
              <li key={index}>
                <p className="age">
                  {role} · {formatTime(timestamp)}
                </p>
                <LongText text={content} />
              </li>
            ))}
          </ol>
        );
      }}
    </Loaded>
  );
}
