/** Components of the console in the places of plugins, which need no library of their own for them. */
import { type ComponentType, render } from 'preact';
import type { Part } from '../../../template/atrium-console';
import { stylesOf } from '../styles';

interface Running {
  host: Element;
  stop: () => void;
}

const running = new Set<Running>();

/**
 * Renders a component at the end of a host. The component has a shadow root of its own: labels find their fields by ids, which Preact numbers
 * within each root.
 */
export function startPart<Props extends object>(
  host: Element,
  plugin: string,
  Component: ComponentType<Props>,
  given: Props,
  sheets: readonly CSSStyleSheet[] = [],
): Part<Props> {
  const element = document.createElement('div');
  const root = element.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [...stylesOf(plugin), ...sheets];
  host.append(element);
  let props = given;
  const part: Running = {
    host: element,
    stop() {
      if (!running.delete(part)) return;
      render(null, root);
      element.remove();
    },
  };
  running.add(part);
  const draw = () => render(<Component {...props} />, root);
  draw();
  return {
    update(changes) {
      props = { ...props, ...changes };
      if (running.has(part)) draw();
    },
    remove: part.stop,
  };
}

/** Ends the components in a place that goes away. */
export function endParts(place: Element): void {
  for (const part of running) if (place.contains(part.host) || !part.host.isConnected) part.stop();
}
