import type { TurnEvidence } from '@switchyard/contracts';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration } from '../../parts/format.ts';

/** The prompt as counts. */
export function Evidence({ evidence: { told, recalled, window, screened, output } }: { evidence: TurnEvidence }) {
  return (
    <Facts
      facts={{
        Messages: told && `${told.messages} verbatim with ${formatCount(told.chars)} characters; ${told.leftOut} left out`,
        Summaries: told && `${told.summaries}, which cover ${told.folded} messages`,
        Tools: told && String(told.tools),
        Memories: recalled && `${recalled.count} with ${formatCount(recalled.chars)} characters`,
        'Context window':
          window &&
          `${formatCount(window.used)} of ${formatCount(window.tokens)} tokens used, ${formatCount(window.reserved)} kept free for the answer${window.fits ? '' : '; the prompt did not fit'}`,
        'Screening of the input': screened && `risk ${screened.risk}: ${[...screened.patterns, ...screened.shapes].join(', ')}`,
        'Redacted in the answer': output && [...output.redacted, ...output.warned].join(', '),
        Reranking: recalled?.reranked && `${recalled.reranked.candidates} candidates in ${formatDuration(recalled.reranked.ms)}`,
      }}
    />
  );
}
