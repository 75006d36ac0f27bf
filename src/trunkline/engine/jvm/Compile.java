import java.io.File;
import org.codehaus.commons.compiler.util.resource.ResourceFinder;
import org.codehaus.janino.ClassLoaderIClassLoader;
import org.codehaus.janino.Compiler;

/** Compiles sources with the compiler that Spark brings along: Compile FOLDER SOURCE... */
public class Compile {
    public static void main(String[] args) throws Exception {
        File[] sources = new File[args.length - 1];
        for (int i = 1; i < args.length; i++) {
            sources[i - 1] = new File(args[i]);
        }
        Compiler compiler = new Compiler(
            ResourceFinder.EMPTY_RESOURCE_FINDER, new ClassLoaderIClassLoader(Compile.class.getClassLoader()));
        compiler.setSourceVersion(8);
        compiler.setTargetVersion(8);
        compiler.setDestinationDirectory(new File(args[0]), false);
        compiler.compile(sources);
    }
}
