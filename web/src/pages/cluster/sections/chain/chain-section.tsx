import { useLoad } from '../../../../api/load';
import { Loaded } from '../../../../ui/loaded';
import type { Section, SectionProps } from '../section';

/** Loads the picture of the chain beside the other sections of a page. */
function ChainPart(props: SectionProps) {
  const load = useLoad('sections/chain', () => import('./chain'));
  return <Loaded load={load}>{({ ChainView }) => <ChainView {...props} />}</Loaded>;
}

/** The objects before and behind one: from the Ingress to the pods, and what these use. */
export const chain: Section = { title: 'chain.title', View: ChainPart };
