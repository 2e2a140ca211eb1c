import { useSearchText } from '../../parts/use-search.ts';
import { Run } from './Run.tsx';
import { SessionTurns } from './SessionTurns.tsx';
import { TurnList } from './TurnList.tsx';

/** The selected turn, and the turns of all sessions or of one. */
export function Runs() {
  const [turn] = useSearchText('turn');
  const [session] = useSearchText('session');
  return (
    <>
      {turn !== '' && <Run key={turn} turnId={turn} />}
      {session === '' ? <TurnList /> : <SessionTurns sessionKey={session} />}
    </>
  );
}
