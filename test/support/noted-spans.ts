import type { Span, SpanEnd, SpanStart, Traces } from '#shared/process/traces/traces.ts';

/** The trace context of a caller. */
export const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

interface Noted extends SpanStart, SpanEnd {
  name: string;
  traceparent: string;
  isEnded: boolean;
}

/** Traces that note what is begun and how it ends. */
export function noting() {
  const spans: Noted[] = [];
  const traces: Traces = {
    begin(name, start = {}) {
      const id = String(spans.length + 1).padStart(16, '0');
      const traceparent = CALLER.replace('b7ad6b7169203331', id);
      const noted: Noted = { ...start, name, traceparent, isEnded: false };
      spans.push(noted);
      const span: Span = {
        traceparent,
        isRecorded: true,
        end({ attributes, ...end } = {}) {
          if (noted.isEnded) return;
          Object.assign(noted, end, {
            isEnded: true,
            attributes: { ...noted.attributes, ...attributes },
          });
        },
      };
      return span;
    },
    stop: () => Promise.resolve(),
  };
  return { traces, spans };
}
