import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';
import { getToken } from '../../session/browser-token.ts';

/** The access tokens without their secrets. The token of this browser is marked. */
export function Tokens() {
  const tokens = useCall('tokens.list', {}, ['audit:event']);
  return (
    <Loaded query={tokens}>
      {({ tokens: rows }) => (
        <>
          <DataTable
            label="tokens"
            columns={['id', 'note', 'scopes', 'sessions', 'createdAt', 'expiresAt']}
            rows={rows.map((row) => ({ ...row, note: row.id === getToken()?.id ? 'this browser' : '' }))}
            actions={({ id }) => (
              <Confirm
                label="Revoke"
                name={String(id)}
                needs="tokens.revoke"
                run={async () => {
                  await call('tokens.revoke', { id: String(id) });
                  await tokens.refetch();
                }}
              >
                <p>Clients with this token are refused from now on.</p>
              </Confirm>
            )}
          />
          <CopyAs method="tokens.list" params={{}} />
        </>
      )}
    </Loaded>
  );
}
