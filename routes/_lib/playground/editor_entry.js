/** The editor of the playground in the browser, from CodeMirror; `editor.ts` bundles it. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { javascript } from '@codemirror/lang-javascript'
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState, Prec } from '@codemirror/state'
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'

/**
 * Puts an editor below `parent`. Its styles take `nonce`, its colours are in site.css. `onRun` is called for Ctrl+Enter, `onChange` for
 * every change. Tab moves on, as on the rest of the page.
 */
export function createEditor({ parent, nonce, label, code, language, onRun, onChange }) {
  const grammar = new Compartment()
  const run = () => {
    onRun()
    return true
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: code,
      extensions: [
        EditorView.cspNonce.of(nonce),
        lineNumbers(),
        highlightSpecialChars(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        history(),
        indentOnInput(),
        bracketMatching(),
        syntaxHighlighting(classHighlighter),
        grammar.of(grammarOf(language)),
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: typeOver }),
        EditorView.contentAttributes.of({ 'aria-label': label, autocapitalize: 'off' }),
        EditorView.updateListener.of(({ docChanged }) => docChanged && onChange()),
      ],
    }),
  })
  return {
    get code() {
      return view.state.doc.toString()
    },
    setLanguage(language) {
      view.dispatch({ effects: grammar.reconfigure(grammarOf(language)) })
    },
    setCode(code, language) {
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: code },
        effects: grammar.reconfigure(grammarOf(language)),
        selection: { anchor: 0 },
        scrollIntoView: true,
      })
    },
  }
}

/** Chrome gives what is typed over a selection the style of what was there, as an attribute, which the page's policy refuses. */
function typeOver({ inputType, data }, view) {
  if (inputType !== 'insertText' || !data || view.composing || view.state.selection.main.empty) return false
  view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
  return true
}

function grammarOf(language) {
  return javascript({ typescript: language === 'ts' })
}
