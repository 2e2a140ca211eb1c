import { Action } from '../../parts/Action.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

/** The model catalog, with a test call for each model. */
export function Models() {
  const models = useCall('models.list', {}, ['model:catalog_loaded']);
  return (
    <Loaded query={models}>
      {(all) => (
        <>
          <DataTable
            label="models"
            columns={['provider', 'modelId', 'contextWindow', 'maxTokens', 'input', 'cost', 'validated']}
            rows={all.map((model) => ({ ...model, validated: model.validated ? formatTime(model.validatedAt ?? undefined) : 'no' }))}
            actions={({ modelId, provider }) => (
              <Action
                label="Test"
                needs="models.test"
                run={async () => {
                  await call('models.test', { model: String(modelId), provider: String(provider) });
                  await models.refetch();
                }}
              />
            )}
          />
          <CopyAs method="models.list" params={{}} />
        </>
      )}
    </Loaded>
  );
}
