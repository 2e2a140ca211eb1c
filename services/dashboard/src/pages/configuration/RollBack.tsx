import { useQueryClient } from '@tanstack/react-query';
import { Confirm } from '../../parts/Confirm.tsx';
import { call } from '../../session/client.ts';
import { SHORT } from './author.ts';
import { Changes } from './Changes.tsx';

interface RollBackProps {
  label: string;
  /** The version that is restored. */
  sha: string;
  /** The version in force. The rollback fails if another one was written meanwhile. */
  head: string | undefined;
}

/** Restores a version as a new version. The dialog shows which changes are taken back. */
export function RollBack({ label, sha, head }: RollBackProps) {
  const cache = useQueryClient();
  const run = async (): Promise<void> => {
    await call('config.rollback', { sha, ...(head === undefined ? {} : { baseSha: head }) });
    await cache.invalidateQueries({ predicate: ({ queryKey }) => /^(config|agents)\./.test(String(queryKey[0])) });
  };
  return (
    <Confirm label={label} name={sha.slice(0, SHORT)} needs="config.rollback" run={run}>
      <p>These changes since the version are taken back, as a new version:</p>
      <Changes sha={sha} />
    </Confirm>
  );
}
