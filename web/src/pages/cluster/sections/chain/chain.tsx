/** The chain of an object as a picture, and as the same tree of links for the keyboard, screen readers and phones. */
import './chain.css';
import { type Chain, type ChainNode, chainOf } from '@atrium/objects/chain.ts';
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { type Kind, kindId, pageOf } from '../../../../api/kinds';
import type { ClusterObject } from '../../../../api/objects';
import { href } from '../../../../app/router';
import { t } from '../../../../text/text';
import { Loaded } from '../../../../ui/loaded';
import { StateView } from '../../cells';
import { endpointCounts } from '../network/endpoints';
import type { SectionProps } from '../section';
import { selectedLabels } from '../selector';
import { type ChainRead, chainReads } from './chain-reads';
import { GapText } from './gap-text';
import { type Layout, layoutOf } from './layout';
import { type Gap, useReads } from './use-reads';

export function ChainView(props: SectionProps) {
  const { kinds, kind, object } = props;
  const reads = chainReads(kinds, kind, object);
  const { load, refused } = useReads('chain', object, reads);
  return (
    <Loaded load={load}>
      {({ objects, gaps: found }) => {
        const gaps = [...refused, ...found];
        return <Drawn {...props} chain={chainOf(object, objects, endpointsIn(objects, reads, gaps))} gaps={gaps} />;
      }}
    </Loaded>
  );
}

const isSlices = ({ kind }: { kind: Kind }): boolean => kindId(kind) === 'endpointslices.discovery.k8s.io';

/** Returns the endpoints of Services by name, as lists of Services count them; undefined if they were not read as a whole. */
function endpointsIn(objects: readonly ClusterObject[], reads: readonly ChainRead[], gaps: readonly Gap[]) {
  if (!reads.some(isSlices) || gaps.some(isSlices)) return undefined;
  const counts = endpointCounts(objects.filter(({ kind }) => kind === 'EndpointSlice'));
  return new Map([...counts].map(([service, count]) => [service.slice(service.indexOf('/') + 1), count]));
}

interface DrawnProps extends SectionProps {
  chain: Chain;
  gaps: readonly Gap[];
}

function Drawn({ chain, gaps, ...props }: DrawnProps) {
  const focused = useSignal('');
  const { place, room } = useRoom();
  const linkOf = (node: ChainNode) => linkTo(node, props);
  const layout = layoutOf(chain, room);
  // Text that is scaled down could not be read: the tree takes the place of a picture without room.
  const isDrawn = layout.width <= room;
  return (
    <div class="chain" ref={place}>
      {isDrawn && <Picture layout={layout} focused={focused.value} linkOf={linkOf} />}
      <nav
        class={`chain-tree ${isDrawn ? 'hidden' : ''}`}
        aria-label={t('chain.title')}
        onFocusCapture={({ target }) => setFocus(target)}
        onBlurCapture={() => setFocus(null)}
      >
        <Tree chain={chain} linkOf={linkOf} />
      </nav>
      {gaps.map((gap) => (
        <GapText key={gap.kind.resource} gap={gap} />
      ))}
    </div>
  );

  function setFocus(target: EventTarget | null): void {
    focused.value = target instanceof HTMLElement ? (target.dataset.node ?? '') : '';
  }
}

type LinkOf = (node: ChainNode) => string | undefined;

/** Returns the page of a node, or the list that has the pods of a group or the objects without room. */
function linkTo({ kind, group, name, pods, more, isRoot }: ChainNode, { kinds, object }: SectionProps): string | undefined {
  const { namespace } = object.metadata;
  const found = kinds.find((one) => one.kind === kind && one.isPreferred && (one.group === group || (group === '' && kind !== 'Pod')));
  if (isRoot || found === undefined) return undefined;
  if (pods === undefined && more === undefined) return href(pageOf(found, { name, ...(found.isNamespaced && { namespace }) }));
  const selector = kind === 'Pod' ? selectedLabels(object) : '';
  return href(pageOf(found, { namespace }) + (selector === '' ? '' : `?${new URLSearchParams({ selector })}`));
}

/** Returns the width that an element has. */
function useRoom() {
  const place = useRef<HTMLDivElement>(null);
  const room = useSignal(0);
  useLayoutEffect(() => {
    const measure = () => {
      room.value = place.current?.clientWidth ?? 0;
    };
    const observer = new ResizeObserver(measure);
    measure();
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return { place, room: room.value };
}

/** The picture is for the eye and the mouse: the tree has its links. A link of the tree that has the focus is marked in the picture. */
function Picture({ layout, focused, linkOf }: { layout: Layout; focused: string; linkOf: LinkOf }) {
  return (
    <svg aria-hidden="true" width={layout.width} height={layout.height} viewBox={`0 0 ${layout.width} ${layout.height}`}>
      <Lines layout={layout} />
      {layout.nodes.map(({ node, ...box }) => (
        <foreignObject key={node.id} {...box}>
          <Box node={node} to={linkOf(node)} isFocused={focused === node.id} />
        </foreignObject>
      ))}
    </svg>
  );
}

const Lines = ({ layout: { frames, edges } }: { layout: Layout }) => (
  <>
    {frames.map(({ id, ...box }) => (
      <rect key={id} class="frame" rx="10" {...box} />
    ))}
    {edges.map(({ id, path }) => (
      <path key={id} class="line" d={path} />
    ))}
  </>
);

function Box({ node, to, isFocused }: { node: ChainNode; to: string | undefined; isFocused: boolean }) {
  const classes = `node ${node.state?.tone ?? 'none'} ${node.isRoot ? 'root' : ''} ${isFocused ? 'focused' : ''}`;
  const content = (
    <>
      <span class="kind">
        <span>{node.pods ? t('object.pods') : node.kind}</span>
        <State node={node} />
      </span>
      <Name text={nameOf(node)} isWhole={node.name === ''} />
    </>
  );
  const title = `${node.kind} ${nameOf(node)}`;
  if (to === undefined)
    return (
      <div class={classes} title={title}>
        {content}
      </div>
    );
  return (
    <a class={classes} href={to} title={title} tabIndex={-1}>
      {content}
    </a>
  );
}

/** The end of a name tells pods of a workload apart: a long name is cut in the middle. */
const tail = 6;

function Name({ text, isWhole }: { text: string; isWhole: boolean }) {
  const end = isWhole ? text.length : Math.max(0, text.length - tail);
  return (
    <span class="name">
      <span>{text.slice(0, end)}</span>
      {text.slice(end)}
    </span>
  );
}

function nameOf({ name, pods, more }: ChainNode): string {
  if (more !== undefined) return t('chain.more', { count: more });
  return pods === undefined ? name : t(pods.unready > 0 ? 'chain.podsUnready' : 'chain.podsReady', pods);
}

function State({ node: { state, pods } }: { node: ChainNode }) {
  if (state === undefined) return null;
  if (pods !== undefined) return <StateView of={{ ...state, word: `${pods.count - pods.unready}/${pods.count}` }} />;
  const word = state.figure !== '' && state.tone === 'ok' ? state.figure : state.word;
  return <StateView of={{ ...state, word, reason: [state.word, state.reason].filter((one) => one !== '' && one !== word).join(': ') }} />;
}

/** The same nodes as a nested list, from the objects to which nothing leads. */
function Tree({ chain, linkOf }: { chain: Chain; linkOf: LinkOf }) {
  const targets = new Set(chain.edges.flatMap(([, to]) => membersOf(chain, to)).map(({ id }) => id));
  return <Branch {...{ chain, linkOf }} nodes={chain.nodes.filter(({ id }) => !targets.has(id))} above={[]} />;
}

/** Returns a node, or the nodes of a frame. */
const membersOf = ({ nodes }: Chain, id: string): ChainNode[] => nodes.filter((node) => node.id === id || node.frame === id);

interface BranchProps {
  chain: Chain;
  linkOf: LinkOf;
  nodes: readonly ChainNode[];
  above: readonly string[];
}

function Branch({ chain, linkOf, nodes, above }: BranchProps) {
  if (nodes.length === 0) return null;
  return (
    <ul>
      {nodes.map((node) => {
        const below = above.includes(node.id) ? [] : belowOf(chain, node, nodes);
        return (
          <li key={node.id}>
            <Leaf node={node} to={linkOf(node)} />
            <Branch {...{ chain, linkOf }} nodes={below} above={[...above, node.id]} />
          </li>
        );
      })}
    </ul>
  );
}

/** Returns what a node leads to. The pods of a frame use the same, which stands below the first of them. */
function belowOf(chain: Chain, { id, frame }: ChainNode, beside: readonly ChainNode[]): ChainNode[] {
  const isFirst = frame !== undefined && beside.find((one) => one.frame === frame)?.id === id;
  return chain.edges.filter(([from]) => from === id || (isFirst && from === frame)).flatMap(([, to]) => membersOf(chain, to));
}

function Leaf({ node, to }: { node: ChainNode; to: string | undefined }) {
  const text = `${node.pods ? '' : `${node.kind} `}${nameOf(node)}`;
  return (
    <>
      {to === undefined ? (
        <strong>{text}</strong>
      ) : (
        <a href={to} data-node={node.id}>
          {text}
        </a>
      )}{' '}
      <State node={node} />
    </>
  );
}
