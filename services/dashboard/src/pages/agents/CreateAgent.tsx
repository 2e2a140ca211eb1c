import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';

/** A form for the name and the model. Everything else is changed afterwards. */
export function CreateAgent({ onCreated }: { onCreated: (agentId: string) => void }) {
  const [name, setName] = useDraft('agent name');
  const [provider, setProvider] = useDraft('agent provider');
  const [model, setModel] = useDraft('agent model');
  const cache = useQueryClient();
  const create = async (): Promise<void> => {
    const options = { ...(provider === '' ? {} : { provider }), ...(model === '' ? {} : { model }) };
    const { agentId } = await call('agents.create', { name, ...options });
    for (const clear of [setName, setProvider, setModel]) clear('');
    await cache.invalidateQueries({ predicate: ({ queryKey }) => /^(config|agents)\./.test(String(queryKey[0])) });
    onCreated(agentId);
  };
  return (
    <>
      <label>
        Name <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" />
      </label>
      <label>
        Provider (optional) <input value={provider} onChange={(event) => setProvider(event.target.value)} autoComplete="off" />
      </label>
      <label>
        Model (optional) <input value={model} onChange={(event) => setModel(event.target.value)} autoComplete="off" />
      </label>
      <p className="tools">
        <Action label="Create" needs="agents.create" disabled={name === ''} run={create} />
      </p>
    </>
  );
}
