# fish completion for vyre: vyre completion fish > ~/.config/fish/completions/vyre.fish

# The programs of the files that the line names.
function __vyre_programs
    sed -n 's/^program  *\([A-Za-z0-9_]*\).*/\1/p' -- (commandline -opc)[3..] 2>/dev/null
end

@COMMANDS@