import { useSearchText } from '../../parts/use-search.ts';
import { Run } from './Run.tsx';
import { SessionTurns } from './SessionTurns.tsx';
import { TurnList } from './TurnList.tsx';

/** The turns of all sessions or of one, and the selected turn with its steps. */
export function Runs() {
  const [turn] = useSearchText('turn');
  const [session] = useSearchText('session');
  return (
    <>
      {session === '' ? <TurnList /> : <SessionTurns sessionKey={session} />}
      {turn !== '' && <Run key={turn} turnId={turn} />}
    </>
  );
}
