import { useRef, useState } from 'react';
import { describeError } from '../parts/format.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall } from '../parts/use-call.ts';
import { useSearchText } from '../parts/use-search.ts';
import { getClient } from '../session/client.ts';

interface Exchange {
  message: string;
  answer: string;
  state: 'streaming' | 'done' | 'failed';
  failure?: string;
}

/** A conversation with an agent. The turn continues on the server when this page is left. */
export function Chat() {
  const agents = useCall('agents.list', {});
  const [agentId, setAgentId] = useSearchText('agent');
  const [draft, setDraft] = useState('');
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
  const running = useRef<AbortController>(undefined);
  const isStreaming = exchanges.at(-1)?.state === 'streaming';

  const change = (update: Partial<Exchange>): void =>
    setExchanges((all) => all.map((one, index) => (index === all.length - 1 ? { ...one, ...update } : one)));

  const send = async (): Promise<void> => {
    const message = draft.trim();
    if (message === '' || isStreaming) return;
    setDraft('');
    setExchanges((all) => [...all, { message, answer: '', state: 'streaming' }]);
    const controller = (running.current = new AbortController());
    try {
      const options = { signal: controller.signal, cancels: true, ...(agentId === '' ? {} : { agentId }) };
      for await (const event of getClient().chat(message, options)) {
        if (event.type === 'done') change({ answer: event.response, state: 'done' });
        else change({ answer: event.accumulated });
      }
    } catch (error) {
      change({ state: 'failed', failure: controller.signal.aborted ? 'Cancelled.' : describeError(error) });
    }
  };

  return (
    <>
      <Loaded query={agents}>
        {({ agents: ids }) => (
          <label>
            Agent{' '}
            <select value={agentId} onChange={(event) => setAgentId(event.target.value)}>
              <option value="">the default agent</option>
              {ids.map((id) => (
                <option key={id}>{id}</option>
              ))}
            </select>
          </label>
        )}
      </Loaded>
      <div className="conversation" role="log" aria-label="Conversation" aria-busy={isStreaming} tabIndex={0}>
        {exchanges.map(({ message, answer, state, failure }, index) => (
          <article key={index}>
            <p className="mine">{message}</p>
            <p className="theirs" data-state={state}>
              {answer}
            </p>
            {failure && <p role="alert">{failure}</p>}
          </article>
        ))}
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label>
          Message
          <textarea
            rows={3}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              void send();
            }}
          />
        </label>
        <p className="tools">
          <button type="submit" disabled={isStreaming || draft.trim() === ''}>
            Send
          </button>
          {isStreaming && (
            <button type="button" onClick={() => running.current?.abort()}>
              Cancel
            </button>
          )}
        </p>
      </form>
    </>
  );
}
