import type { CallResult } from '@switchyard/client';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, type ReactNode } from 'react';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Exports } from '../../parts/Exports.tsx';
import { describeError, formatCount, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { LongText } from '../../parts/LongText.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { reveal } from '../../parts/reveal.ts';
import { useInvalidation } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';
import { call } from '../../session/client.ts';

type Message = CallResult<'session.history'>['messages'][number];
type Summary = CallResult<'session.list'>['sessions'][number];

const MESSAGES_PER_PAGE = 200;

const getSessionKey = ({ sessionKey }: Summary): string => sessionKey;

/** The messages of the selected session, and the sessions, newest first. */
export function Sessions() {
  const sessions = useSessions();
  const [filter, setFilter] = useSearchText('filter');
  const [selected, select] = useSearchText('session');
  const renderSession = useCallback(
    ({ sessionKey, label, agentId, messageCount, updatedAt }: Summary) => (
      <button type="button" className="plain" aria-pressed={sessionKey === selected} onClick={() => select(sessionKey)}>
        <bdi>{label ?? sessionKey}</bdi> · {agentId} · {messageCount} messages · {formatTime(updatedAt)}
      </button>
    ),
    [selected, select],
  );
  const matches = ({ sessionKey, label, agentId }: Summary): boolean =>
    [sessionKey, label, agentId].some((text) => text?.toLowerCase().includes(filter.toLowerCase()));
  return (
    <>
      {selected !== '' && (
        <Messages
          key={selected}
          sessionKey={selected}
          messageCount={sessions.data?.pages.flatMap((page) => page.sessions).find((one) => one.sessionKey === selected)?.messageCount}
          onDeleted={() => select('')}
        />
      )}
      <label>
        Filter <input type="search" value={filter} onChange={(event) => setFilter(event.target.value)} />
      </label>
      <Loaded query={sessions}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.sessions);
          const total = pages.at(-1)?.total ?? all.length;
          const shown = all.filter(matches);
          return (
            <>
              <p>
                {shown.length} of {total} sessions
              </p>
              <VirtualList label="Sessions" items={shown} rowHeight={40} getKey={getSessionKey} render={renderSession} />
              {sessions.hasNextPage && (
                <button type="button" disabled={sessions.isFetching} onClick={() => void sessions.fetchNextPage()}>
                  Load older sessions
                </button>
              )}
              <Exports
                label="sessions"
                rows={shown}
                columns={['sessionKey', 'label', 'agentId', 'messageCount', 'createdAt', 'updatedAt']}
              />
              <CopyAs method="session.list" params={{}} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** The loaded pages of the list. They are read again when a session changes. */
function useSessions() {
  useInvalidation(['session.list', 'pages'], ['session:created', 'session:expired', 'message:sent']);
  return useInfiniteQuery({
    queryKey: ['session.list', 'pages'],
    queryFn: ({ pageParam, signal }) => call('session.list', pageParam === undefined ? {} : { cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor,
    refetchOnMount: 'always',
  });
}

interface MessagesProps {
  sessionKey: string;
  /** The number of its messages, if its summary is loaded. */
  messageCount: number | undefined;
  onDeleted: () => void;
}

function renderMessage({ role, content, timestamp, untrusted }: Message): ReactNode {
  return (
    <article>
      <p className="age">
        {role} · {formatTime(timestamp)} {untrusted && '· untrusted text'}
      </p>
      <LongText text={content} isMarkdown={role === 'assistant'} />
    </article>
  );
}

function Messages({ sessionKey, messageCount, onDeleted }: MessagesProps) {
  const cache = useQueryClient();
  const history = useInfiniteQuery({
    queryKey: ['session.history', sessionKey],
    queryFn: ({ pageParam, signal }) =>
      call(
        'session.history',
        { session_key: sessionKey, limit: MESSAGES_PER_PAGE, ...(pageParam === undefined ? {} : { cursor: pageParam }) },
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor,
  });
  // Every loaded page would be read again, so that only the newest page follows the conversation.
  useInvalidation(['session.history', sessionKey], history.data?.pages.length === 1 ? ['message:sent'] : []);
  const messages = history.data?.pages.toReversed().flatMap((page) => page.messages) ?? [];
  const remove = async (): Promise<void> => {
    await call('session.delete', { session_key: sessionKey });
    await cache.invalidateQueries({ queryKey: ['session.list'] });
    onDeleted();
  };
  return (
    <section aria-label="Messages" ref={reveal}>
      <h2>
        <bdi>{sessionKey}</bdi>
      </h2>
      <p>
        <PageLink to="/runs" search={{ session: sessionKey }}>
          Runs of this session: what the model received, and why a turn failed
        </PageLink>
      </p>
      {history.error && <p role="alert">{describeError(history.error)}</p>}
      {history.hasNextPage && (
        <button type="button" disabled={history.isFetching} onClick={() => void history.fetchNextPage()}>
          Load older messages
        </button>
      )}
      {messages.length > 0 && <VirtualList label="Messages, oldest first" items={messages} rowHeight={60} render={renderMessage} />}
      {messages.length > 0 && <Exports label="messages" rows={messages} columns={['timestamp', 'role', 'content']} />}
      <CopyAs method="session.history" params={{ session_key: sessionKey }} />
      <Confirm label="Delete session" name={sessionKey} needs="session.delete" run={remove}>
        <p>
          The session and its {formatCount(messageCount ?? messages.length)}
          {messageCount === undefined && history.hasNextPage && ' or more'} messages are removed.
        </p>
      </Confirm>
    </section>
  );
}
