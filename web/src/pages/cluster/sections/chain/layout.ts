/** Places of the nodes of a chain, in columns from left to right. */
import type { Chain, ChainNode } from '@atrium/objects/chain.ts';

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  nodes: readonly (Box & { node: ChainNode })[];
  frames: readonly (Box & { id: string })[];
  edges: readonly { id: string; path: string }[];
}

const nodeHeight = 56;
const gap = 12;
const inset = 8;
const widest = 232;
const narrowest = 132;
const betweenColumns = 32;
/** Height of the lane below the columns, for lines that pass some. */
const lane = 16;

/** Places the columns that have nodes. @param room width of the page */
export function layoutOf({ nodes, edges }: Chain, room: number): Layout {
  const columns = [...Map.groupBy(nodes, ({ column }) => column)].sort(([a], [b]) => a - b).map(([, those]) => those);
  const count = Math.max(1, columns.length);
  const width = Math.floor(Math.min(widest, Math.max(narrowest, (room - betweenColumns * (count - 1) - 2 * inset) / count)));
  const placed = new Map<string, Box & { node: ChainNode }>();
  const heights = columns.map((column) => heightOf(column));
  const height = Math.max(...heights, nodeHeight) + 2 * inset;
  const isLong = (from: Box, to: Box): boolean => to.x - from.x > 1.5 * (width + betweenColumns);
  for (const [index, column] of columns.entries()) {
    let y = (height - (heights[index] ?? 0)) / 2;
    for (const node of inOrder(column, edges, placed)) {
      placed.set(node.id, { node, x: inset + index * (width + betweenColumns), y, width, height: nodeHeight });
      y += nodeHeight + gap;
    }
  }
  const frames = framesOf([...placed.values()]);
  const boxes = new Map<string, Box>([...placed, ...frames.map((frame) => [frame.id, frame] as const)]);
  const lines = edges.flatMap(([from, to]) => {
    const [start, end] = [boxes.get(from), boxes.get(to)];
    return start && end ? [{ id: `${from}>${to}`, start, end, isLong: isLong(start, end) }] : [];
  });
  return {
    width: 2 * inset + count * width + (count - 1) * betweenColumns,
    height: height + (lines.some((line) => line.isLong) ? lane : 0),
    nodes: [...placed.values()],
    frames,
    edges: lines.map(({ id, start, end, isLong: long }) => ({
      id,
      path: long ? detour(start, end, height + lane / 2) : curve(start, end),
    })),
  };
}

const heightOf = (column: readonly ChainNode[]): number => column.length * (nodeHeight + gap) - gap;

/** Places a node beside those that lead to it, so that few lines cross. Nodes of a frame stay together. */
function inOrder(column: readonly ChainNode[], edges: Chain['edges'], placed: ReadonlyMap<string, Box & { node: ChainNode }>): ChainNode[] {
  const idsOf = (id: string) => [id, ...[...placed.values()].filter(({ node }) => node.frame === id).map(({ node }) => node.id)];
  const centre = ({ id, frame }: ChainNode): number => {
    const before = edges.filter(([, to]) => to === id || to === frame).flatMap(([from]) => idsOf(from));
    const places = before.flatMap((one) => placed.get(one)?.y ?? []);
    return places.length > 0 ? places.reduce((sum, y) => sum + y, 0) / places.length : 0;
  };
  return column
    .map((node, index) => ({ node, index, centre: centre(node) }))
    .sort((a, b) => a.centre - b.centre || (a.node.frame ?? '').localeCompare(b.node.frame ?? '') || a.index - b.index)
    .map(({ node }) => node);
}

function framesOf(placed: readonly (Box & { node: ChainNode })[]): (Box & { id: string })[] {
  const framed = placed.filter(({ node }) => node.frame !== undefined);
  return [...Map.groupBy(framed, ({ node }) => node.frame ?? '')].map(([id, those]) => {
    const [top, bottom] = [Math.min(...those.map(({ y }) => y)), Math.max(...those.map(({ y }) => y)) + nodeHeight];
    const [first] = those;
    return { id, x: (first?.x ?? 0) - inset / 2, y: top - inset / 2, width: (first?.width ?? 0) + inset, height: bottom - top + inset };
  });
}

/** Draws a line from the right edge of a box to the left edge of another one. */
function curve(from: Box, to: Box): string {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x, to.y + to.height / 2];
  const bend = Math.max(16, (x2 - x1) / 2);
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
}

/** Draws a line below the columns between two boxes. */
function detour(from: Box, to: Box, y: number): string {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x, to.y + to.height / 2];
  const bend = betweenColumns / 2;
  const down = `C${x1 + bend},${y1} ${x1 + bend / 2},${y} ${x1 + 2 * bend},${y}`;
  return `M${x1},${y1} ${down} L${x2 - 2 * bend},${y} C${x2 - bend / 2},${y} ${x2 - bend},${y2} ${x2},${y2}`;
}
